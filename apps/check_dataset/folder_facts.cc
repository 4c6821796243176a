#include "apps/check_dataset/folder_facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "apps/program/image_paths.h"
#include "data/files/read_bytes.h"
#include "data/images/image.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

std::optional<ImageExtents> ExtentsOfFile(const std::string& path) {
  std::vector<uint8_t> bytes;
  if (!ReadBytes(path, bytes).ok()) return std::nullopt;
  const absl::StatusOr<ImageExtents> extents = ReadImageExtents(bytes, path);
  return extents.ok() ? std::optional(*extents) : std::nullopt;
}

std::string Text(int64_t height, int64_t width) { return StrCat(height, " x ", width); }

std::string DescribeExtents(std::span<const std::string> files) {
  std::vector<std::optional<ImageExtents>> extents(files.size());
  ParallelFor(0, int64_t(files.size()), 1, [&](int64_t begin, int64_t end) {
    for (size_t i = size_t(begin); i < size_t(end); ++i) extents[i] = ExtentsOfFile(files[i]);
  });
  std::erase(extents, std::nullopt);
  if (extents.empty()) return "";
  ImageExtents least = *extents[0], most = *extents[0];
  for (const auto& image : extents) {
    least.height = std::min(least.height, image->height);
    least.width = std::min(least.width, image->width);
    most.height = std::max(most.height, image->height);
    most.width = std::max(most.width, image->width);
  }
  if (least.height == most.height && least.width == most.width) {
    return StrCat("  all are ", Text(least.height, least.width), " (height x width)\n");
  }
  return StrCat("  their sizes differ, from ", Text(least.height, least.width), " to ",
                Text(most.height, most.width),
                " (height x width): --transform-resize resizes them to one size\n");
}

}  // namespace

absl::StatusOr<std::string> DescribeFolder(const std::string& folder, bool all) {
  SkippedFiles skipped;  // the data set warns of them
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                        ExpandImagePaths({&folder, 1}, skipped));
  if (all) return DescribeExtents(files);
  const std::optional<ImageExtents> first =
      files.empty() ? std::nullopt : ExtentsOfFile(files.front());
  if (!first) return "";
  return StrCat("  the first is ", Text(first->height, first->width),
                " (height x width); --read checks all of them\n");
}

}  // namespace dtnn
