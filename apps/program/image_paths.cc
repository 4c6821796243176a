#include "apps/program/image_paths.h"

#include <filesystem>

#include "data/datasets/class_list.h"
#include "data/files/folder_listing.h"
#include "tensor/errors.h"

namespace dtnn {

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
  constexpr char kExpected[] =
      "a file with one name per line, or a folder with one folder per class";
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kNothing) {
    return NotFound(path, ": there is no such file or folder; expected ", kExpected);
  }
  if (kind != PathKind::kFolder) return ReadClassFile(path);
  const std::string train = (std::filesystem::path(path) / "train").string();
  DTNN_ASSIGN_OR_RETURN(const PathKind inside, LookAt(train));
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> names,
                        FoldersIn(inside == PathKind::kFolder ? train : path));
  if (names.empty()) {
    return InvalidArgument(path, ": contains no class names; expected ", kExpected);
  }
  return names;
}

}  // namespace dtnn
