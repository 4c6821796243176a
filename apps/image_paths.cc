#include "apps/image_paths.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tensor/atomic_file.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = int64_t{1} << 26;

bool Hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

absl::Status Unreadable(const std::string& path, const std::error_code& error) {
  return absl::PermissionDeniedError(absl::StrCat(path, ": cannot be listed: ", error.message()));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandImagePaths(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t first = files.size();
    const auto options = fs::directory_options::follow_directory_symlink;
    fs::recursive_directory_iterator at(path, options, error), end;
    for (; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (Hidden(at->path())) {
        at.disable_recursion_pending();
      } else if (!at->is_directory(ignored)) {
        files.push_back(at->path().string());
      }
    }
    if (error) return Unreadable(path, error);
    std::sort(files.begin() + ptrdiff_t(first), files.end());
  }
  return files;
}

absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const fs::path folder = fs::is_directory(path + "/train", error) ? path + "/train" : path;
    fs::directory_iterator at(folder, error), end;
    for (; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!Hidden(at->path()) && at->is_directory(ignored)) {
        names.push_back(at->path().filename().string());
      }
    }
    if (error) return Unreadable(folder.string(), error);
    std::sort(names.begin(), names.end());
  } else {
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) names.push_back(line);
    }
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": names no classes; expected a file of a name per line, or a folder of "
                     "a folder per class"));
  }
  return names;
}

}  // namespace dtnn
