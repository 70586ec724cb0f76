import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Answers what a cache of the library Guava hits. README.md above says how it is asked. A request is a getIfPresent, and
 * a put after a miss, which also takes note of all reads of its segment, in their order.
 */
public final class Driver {
  private static final int RECORD = 24;
  private static final long REMOVAL = -2;

  private final ByteBuffer records;

  private Driver(Path trace) throws Exception {
    records = ByteBuffer.wrap(Files.readAllBytes(trace)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private String replay(String policy, long capacity, boolean bytes) {
    if (!policy.equals("guava")) {
      return "error\tno policy " + policy;
    }
    Cache<Long, Integer> cache = bytes
        ? CacheBuilder.newBuilder().maximumWeight(capacity).weigher((Long key, Integer size) -> size).build()
        : CacheBuilder.newBuilder().maximumSize(capacity).build();
    long requests = 0;
    long hits = 0;
    long hitBytes = 0;
    for (int at = 0; at < records.capacity(); at += RECORD) {
      Long key = records.getLong(at + 4);
      int size = records.getInt(at + 12);
      if (records.getLong(at + 16) == REMOVAL) {
        cache.invalidate(key);
        continue;
      }
      requests++;
      if (cache.getIfPresent(key) == null) {
        cache.put(key, size);
        continue;
      }
      hits++;
      hitBytes += size;
    }
    return requests + "\t" + hits + "\t" + hitBytes;
  }

  public static void main(String[] arguments) throws Exception {
    Driver driver = new Driver(Path.of(arguments[0]));
    BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = questions.readLine()) != null; ) {
      String[] fields = line.split("\t");
      System.out.println(driver.replay(fields[0], Long.parseLong(fields[1]), fields[2].equals("bytes")));
    }
  }
}
