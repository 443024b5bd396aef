# Not run yet. `packaging/build --url BASE` fills in the address, the checksum and the version.
class Aof < Formula
  desc "Git-native, file-backed task engine"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  # It names the archive for Linux on x86_64 alone; on macOS use `install.sh`, or `cargo install`.
  depends_on arch: :x86_64
  depends_on :linux

  def install
    bin.install "aof"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/aof.bash" => "aof"
    zsh_completion.install "completions/aof.zsh" => "_aof"
    fish_completion.install "completions/aof.fish"
  end

  test do
    system bin/"aof", "demo"
  end
end
