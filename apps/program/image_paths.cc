#include "apps/program/image_paths.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>

#include "data/files/folder_listing.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 26;

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandImagePaths(std::span<const std::string> paths,
                                                          SkippedFiles& skipped) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const absl::StatusOr<PathKind> kind = LookAt(path);
    if (!kind.ok() || *kind != PathKind::kFolder) {
      files.push_back(path);
      continue;
    }
    DTNN_ASSIGN_OR_RETURN(const ImageFiles below, ImageFilesBelow(path));
    for (const std::string& name : below.images) {
      files.push_back((std::filesystem::path(path) / name).string());
    }
    skipped.Add(path, below);
  }
  return files;
}

absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path) {
  std::vector<std::string> names;
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kFolder) {
    const std::string train = (std::filesystem::path(path) / "train").string();
    DTNN_ASSIGN_OR_RETURN(const PathKind inside, LookAt(train));
    DTNN_ASSIGN_OR_RETURN(names, FoldersIn(inside == PathKind::kFolder ? train : path));
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
    return InvalidArgument(
        path,
        ": contains no class names; expected a file with one name per line, or a "
        "folder with one folder per class");
  }
  return names;
}

}  // namespace dtnn
