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
#include "tensor/errors.h"
#include "tensor/files/bytes/known_contents.h"
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

// "a PNG image"; empty for what cannot be read.
std::string_view ContentsOf(const std::string& path) {
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return "";
  std::array<std::byte, kKnownContentsBytes> start = {};
  const absl::StatusOr<size_t> count = file->ReadUpTo(0, start);
  return count.ok() ? KnownContents(std::span(start).first(*count)) : "";
}

bool IsImage(std::string_view contents) {
  return contents == "a JPEG image" || contents == "a PNG image";
}

}  // namespace

absl::StatusOr<ImageFiles> ImageFilesBelow(const std::string& folder, bool* links) {
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesBelow(folder, links));
  std::vector<uint8_t> image(files.size());
  std::vector<std::string_view> contents(files.size());
  std::atomic<bool> no_memory = false;
  ParallelFor(0, int64_t(files.size()), 1, [&](int64_t begin, int64_t end) {
    for (size_t i = size_t(begin); i < size_t(end); ++i) {
      try {
        image[i] = IsImageByName(files[i]);
        if (image[i] != 0) continue;
        contents[i] = ContentsOf(StrCat(folder, "/", files[i]));
        image[i] = IsImage(contents[i]);
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
    if (image[i] != 0) {
      found.images.push_back(std::move(files[i]));
    } else {
      found.others.push_back({std::move(files[i]), contents[i]});
    }
  }
  return found;
}

int64_t SkippedFiles::count() const {
  int64_t count = 0;
  for (const auto& [contents, alike] : by_contents) count += alike.count;
  return count;
}

void SkippedFiles::Add(const std::string& folder, const ImageFiles& files) {
  for (const ImageFiles::Other& other : files.others) {
    Alike& alike = by_contents[other.contents];
    if (alike.count++ == 0) alike.first = StrCat(folder, "/", other.path);
  }
}

std::string SkippedFiles::Describe() const {
  const int64_t all = count();
  if (all == 0) return "";
  std::string text;
  for (auto at = by_contents.rbegin(); at != by_contents.rend(); ++at) {  // those of no name last
    const auto& [contents, alike] = *at;
    StrAppend(&text, text.empty() ? "" : ", ", alike.first);
    if (!contents.empty()) StrAppend(&text, " (", contents.substr(0, contents.find(" (")), ")");
    if (alike.count == 1) continue;
    StrAppend(&text, " and ", alike.count - 1, contents.empty() ? " more" : " more such");
  }
  return StrCat(Counted(all, "file"),
                all == 1 ? " is not a JPEG or PNG image and is skipped: "
                         : " are not JPEG or PNG images and are skipped: ",
                text);
}

}  // namespace dtnn
