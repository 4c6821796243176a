// The main of a fuzz target in an ordinary build: calls it once for every file named on the command
// line, and for every file in a folder named there. Fails when there is none to replay.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool Replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return false;
  }
  // Said before the call, so that the last line of a crash names its input. The copy has exactly
  // the input's size: a sanitizer sees the first byte read behind it.
  std::fprintf(stderr, "%s: %zu bytes\n", path.c_str(), bytes.size());
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& path : FilesOf(argv[i])) {
      ok = Replay(path) && ok;
      ++count;
    }
  }
  std::fprintf(stderr, "%zu inputs replayed\n", count);
  if (count == 0) std::fprintf(stderr, "name the files or folders to replay\n");
  return ok && count > 0 ? 0 : 1;
}
