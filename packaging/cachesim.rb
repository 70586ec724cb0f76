# Homebrew: brew install --HEAD ./packaging/cachesim.rb; with the first release it gets a url.
class Cachesim < Formula
  desc "Replay traces through caches and compare policies with the offline optimum"
  homepage "https://github.com/cachesim/cachesim"
  license "Apache-2.0"
  head "https://github.com/cachesim/cachesim.git", branch: "main"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w"), "./cmd/cachesim"
    generate_completions_from_executable(bin/"cachesim", "completion")
  end

  test do
    (testpath/"keys.txt").write("a\nb\na\n")
    assert_match "33.33%", shell_output("#{bin}/cachesim run keys.txt --policy lru --capacity 2 --quiet")
  end
end
