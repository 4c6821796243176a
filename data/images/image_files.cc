#include "data/images/image_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "data/files/folder_listing.h"
#include "data/images/image.h"
#include "tensor/errors.h"
#include "tensor/files/input_file.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

bool IsImageByName(const std::string& name) {
  return std::ranges::any_of(std::array{".jpg", ".jpeg", ".png"}, [&](const char* ending) {
    return absl::EndsWithIgnoreCase(name, ending);
  });
}

bool IsImageByContent(const std::string& path) {
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return false;
  std::array<uint8_t, 8> start = {};
  const absl::StatusOr<size_t> count = file->ReadUpTo(0, std::as_writable_bytes(std::span(start)));
  return count.ok() && LooksLikeImage(std::span(start).first(*count));
}

}  // namespace

absl::StatusOr<ImageFiles> ImageFilesBelow(const std::string& folder) {
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesBelow(folder));
  std::vector<uint8_t> image(files.size());
  std::atomic<bool> no_memory = false;
  ParallelFor(0, int64_t(files.size()), 1, [&](int64_t begin, int64_t end) {
    for (size_t i = size_t(begin); i < size_t(end); ++i) {
      try {
        image[i] = IsImageByName(files[i]) || IsImageByContent(StrCat(folder, "/", files[i]));
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    }
  });
  if (no_memory) {
    return ResourceExhausted(folder, ": not enough memory to read its files");
  }
  ImageFiles found;
  for (size_t i = 0; i < files.size(); ++i) {
    (image[i] != 0 ? found.images : found.others).push_back(std::move(files[i]));
  }
  return found;
}

void SkippedFiles::Add(const std::string& folder, const ImageFiles& files) {
  if (count == 0 && !files.others.empty()) first = StrCat(folder, "/", files.others[0]);
  count += int64_t(files.others.size());
}

std::string SkippedFiles::Describe() const {
  if (count == 0) return "";
  if (count == 1) return StrCat(first, ": is not a JPEG or PNG image and is skipped");
  return StrCat(first, " and ", Counted(count - 1, "other file"),
                " are not JPEG or PNG images and are skipped");
}

}  // namespace dtnn
