#include "data/datasets/masks/mask_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

constexpr char kLayout[] =
    "expected <path>/train/images/<image>, <path>/train/masks/<image>.png, and the same in "
    "<path>/test";

// A file by its path without the ending.
struct Named {
  std::string stem, name;
};

// In the order of stems.
absl::StatusOr<std::vector<Named>> ImagesIn(const std::string& folder, UnusedFiles& unused) {
  absl::StatusOr<ImageFiles> files = ImageFilesBelow(folder);
  if (absl::IsNotFound(files.status())) return NotFound(files.status().message(), "; ", kLayout);
  DTNN_RETURN_IF_ERROR(files.status());
  unused.others.Add(folder, *files);
  std::vector<Named> images;
  for (std::string& name : files->images) {
    std::string stem = std::filesystem::path(name).replace_extension().string();
    images.push_back({std::move(stem), std::move(name)});
  }
  std::ranges::stable_sort(images, {}, &Named::stem);
  const auto same = std::ranges::adjacent_find(images, {}, &Named::stem);
  if (same == images.end()) return images;
  return InvalidArgument(folder, ": ", same->name, " and ", std::next(same)->name,
                         " have one name but for the ending, and an image finds its mask by that "
                         "name; rename or remove one of them");
}

}  // namespace

std::vector<std::string> UnusedFiles::Warnings() const {
  std::vector<std::string> warnings;
  if (others.count() > 0) warnings.push_back(others.Describe());
  if (masks == 1) warnings.push_back(StrCat("1 mask has no image and is skipped: ", first));
  if (masks > 1) {
    warnings.push_back(StrCat(masks, " masks have no image and are skipped: ", first, " and ",
                              masks - 1, " more"));
  }
  return warnings;
}

absl::StatusOr<MaskFiles> ListMaskFiles(const std::string& folder, UnusedFiles& unused) {
  MaskFiles files = {.images = folder + "/images", .masks = folder + "/masks"};
  DTNN_ASSIGN_OR_RETURN(const std::vector<Named> images, ImagesIn(files.images, unused));
  if (images.empty()) {
    return NotFound(files.images, ": contains no JPEG or PNG images; ", kLayout);
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<Named> masks, ImagesIn(files.masks, unused));
  auto mask = masks.begin();
  const auto skip = [&] {
    if (unused.masks++ == 0) unused.first = StrCat(files.masks, "/", mask->name);
    ++mask;
  };
  for (const Named& image : images) {
    while (mask != masks.end() && mask->stem < image.stem) skip();
    if (mask == masks.end() || mask->stem != image.stem) {
      return NotFound(files.images, "/", image.name, ": has no mask; expected ", files.masks, "/",
                      image.stem, ".png");
    }
    files.image_names.Add(image.name);
    files.mask_names.Add(mask->name);
    ++mask;
  }
  while (mask != masks.end()) skip();
  return files;
}

}  // namespace dtnn
