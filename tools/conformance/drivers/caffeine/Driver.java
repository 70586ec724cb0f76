import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Answers what a cache of the library Caffeine hits. README.md above says how it is asked. A request is a getIfPresent,
 * and then a put after a miss or a cleanUp after a hit: both run the maintenance, in this thread. The policy "caffeine"
 * is the library as it is; "calm" sets the seed of the thread before each request so that no random number admits what
 * lost a contest.
 */
public final class Driver {
  private static final int RECORD = 24;
  private static final long REMOVAL = -2;
  private static final int DRAWS = 1000; // more than contests of one request

  private final ByteBuffer records;
  private final Field seed;
  private final long calm;

  private Driver(Path trace) throws Exception {
    records = ByteBuffer.wrap(Files.readAllBytes(trace)).order(ByteOrder.LITTLE_ENDIAN);
    seed = Thread.class.getDeclaredField("threadLocalRandomSeed");
    seed.setAccessible(true);
    ThreadLocalRandom.current();
    calm = calmSeed();
  }

  /** Returns a seed after which the thread draws no multiple of 128, which is what the library admits by. */
  private long calmSeed() throws Exception {
    for (long candidate = 1; ; candidate++) {
      seed.setLong(Thread.currentThread(), candidate);
      int draws = 0;
      while (draws < DRAWS && (ThreadLocalRandom.current().nextInt() & 127) != 0) {
        draws++;
      }
      if (draws == DRAWS) {
        return candidate;
      }
    }
  }

  private String replay(String policy, long capacity, boolean bytes) throws Exception {
    if (!policy.equals("caffeine") && !policy.equals("calm")) {
      return "error\tno policy " + policy;
    }
    Caffeine<Object, Object> builder = Caffeine.newBuilder().executor(Runnable::run);
    Cache<Long, Integer> cache = bytes
        ? builder.maximumWeight(capacity).weigher((Long key, Integer size) -> size).build()
        : builder.maximumSize(capacity).build();
    seed.setLong(Thread.currentThread(), System.nanoTime());
    long requests = 0;
    long hits = 0;
    long hitBytes = 0;
    for (int at = 0; at < records.capacity(); at += RECORD) {
      Long key = records.getLong(at + 4);
      int size = records.getInt(at + 12);
      if (policy.equals("calm")) {
        seed.setLong(Thread.currentThread(), calm);
      }
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
      cache.cleanUp();
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
