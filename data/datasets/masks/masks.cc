#include "data/datasets/masks/masks.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/datasets/class_list.h"
#include "data/datasets/folder.h"
#include "data/datasets/image_dataset.h"
#include "data/datasets/masks/mask_files.h"
#include "data/files/folder_listing.h"
#include "data/files/read_bytes.h"
#include "data/images/image.h"
#include "data/images/mask_values.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

struct Values {
  int64_t classes = 0;   // as many as the largest says
  bool without = false;  // whether a pixel has no class
};

Values ValuesOf(const Image& mask) {
  Values values;
  for (const uint8_t value : mask.pixels) {
    values.without |= value == kMaskWithoutClass;
    if (value != kMaskWithoutClass) values.classes = std::max<int64_t>(values.classes, value + 1);
  }
  return values;
}

class Masks : public ImageDataset {
 public:
  explicit Masks(const Geometry& geometry) : ImageDataset(geometry, 3) {}

  absl::Status Open(const MasksOptions& options);

  std::string_view name() const override { return "masks"; }
  int64_t outputs() const override { return classes_; }
  TargetKind target_kind() const override { return TargetKind::kPixels; }
  bool counts_classes() const override { return class_names_.empty(); }
  std::vector<std::string> class_names() const override { return class_names_; }
  bool names_number_classes() const override { return false; }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings = unused_.Warnings();
    if (!renamed_.empty()) warnings.insert(warnings.begin(), renamed_);
    for (std::string& damaged : ImageDataset::warnings()) warnings.push_back(std::move(damaged));
    return warnings;
  }

 protected:
  int64_t listed(Split split) const override { return files(split).size(); }
  absl::Status ReadEncoded(Split split, int64_t index, std::vector<uint8_t>& bytes) const override {
    return ReadBytes(FileName(split, index), bytes);
  }
  std::string FileName(Split split, int64_t index) const override {
    return files(split).Image(index);
  }
  absl::Status WriteTarget(Split split, int64_t index, std::span<const uint8_t> encoded,
                           int64_t row, const Tensor& targets) const override;
  absl::Status CheckTarget(Split split, int64_t index) const override {
    return ReadMask(split, index).status();
  }

 private:
  const MaskFiles& files(Split split) const { return split == Split::kTrain ? train_ : test_; }
  absl::Status NameClasses(const std::string& root, bool skip_damaged);
  absl::Status CountClasses(const std::string& root, bool skip_damaged);
  absl::StatusOr<Image> ReadMask(Split split, int64_t index) const;
  absl::Status CheckClasses(const Image& mask, const std::string& name) const;

  MaskFiles train_, test_;
  std::string classes_file_;
  std::vector<std::string> class_names_;
  int64_t classes_ = 0;
  UnusedFiles unused_;
  std::string renamed_;  // a warning
};

absl::StatusOr<Image> Masks::ReadMask(Split split, int64_t index) const {
  const std::string name = files(split).Mask(index);
  try {
    std::vector<uint8_t> bytes;
    DTNN_RETURN_IF_ERROR(ReadBytes(name, bytes));
    return DecodeMask(bytes, name);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(name, ": not enough memory to read it");
  }
}

// From the values of all masks.
absl::Status Masks::CountClasses(const std::string& root, bool skip_damaged) {
  std::mutex mutex;
  bool any_without = false;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    std::map<int64_t, absl::Status> errors;
    ParallelFor(0, listed(split), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const absl::StatusOr<Image> mask = ReadMask(split, i);
        const auto [classes, without] = mask.ok() ? ValuesOf(*mask) : Values{};
        const std::lock_guard lock(mutex);
        classes_ = std::max(classes_, classes);
        any_without |= without;
        if (!mask.ok()) errors.emplace(i, mask.status());
      }
    });
    for (const auto& [index, status] : errors) {
      if (!absl::IsDataLoss(status)) return status;
      if (skip_damaged) continue;
      constexpr std::string_view kOption = "OpenDatasetOptions::skip_damaged_images";
      return NamingArgument(DataLoss(status.message(), " ", kOption, " leaves damaged images out"),
                            kOption);
    }
  }
  if (classes_ > 1 || !any_without) return absl::OkStatus();
  return InvalidArgument(root, ": the masks hold no values but ", classes_ == 1 ? "0 and " : "",
                         "255, which says that a pixel has no class; classes are 0, 1, and so on");
}

absl::Status Masks::NameClasses(const std::string& root, bool skip_damaged) {
  classes_file_ = (fs::path(root) / "classes.txt").string();
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(classes_file_));
  if (kind == PathKind::kNothing) return CountClasses(root, skip_damaged);
  DTNN_ASSIGN_OR_RETURN(class_names_, ReadClassFile(classes_file_));
  classes_ = int64_t(class_names_.size());
  if (classes_ <= kMaskWithoutClass) return absl::OkStatus();
  return InvalidArgument(classes_file_, ": names ", classes_,
                         " classes, but masks have values for ", int{kMaskWithoutClass}, " only");
}

absl::Status Masks::CheckClasses(const Image& mask, const std::string& name) const {
  const auto bad = std::ranges::find_if(
      mask.pixels, [&](uint8_t value) { return value != kMaskWithoutClass && value >= classes_; });
  if (bad == mask.pixels.end()) return absl::OkStatus();
  const int64_t place = bad - mask.pixels.begin(), width = mask.extents.width;
  return InvalidArgument(
      name, ": the pixel in row ", place / width, " and column ", place % width,
      ", from 0, has class ", int{*bad}, ", but ",
      class_names_.empty() ? "when the run began all masks had" : StrCat(classes_file_, " names"),
      " ", Counted(classes_, "class", "classes"), ", from 0; 255 says that a pixel has none");
}

absl::Status Masks::WriteTarget(Split split, int64_t index, std::span<const uint8_t> encoded,
                                int64_t row, const Tensor& targets) const {
  const std::string image_name = FileName(split, index), name = files(split).Mask(index);
  DTNN_ASSIGN_OR_RETURN(const Image mask, ReadMask(split, index));
  // Not those of the decoded image: a large JPEG is decoded at a part of its extents.
  DTNN_ASSIGN_OR_RETURN(const ImageExtents image, ReadImageExtents(encoded, image_name));
  if (mask.extents.height != image.height || mask.extents.width != image.width) {
    return InvalidArgument(name, ": has ", mask.extents.width, " x ", mask.extents.height,
                           " pixels, but its image, ", image_name, ", has ", image.width, " x ",
                           image.height, "; a mask is as large as its image");
  }
  DTNN_RETURN_IF_ERROR(CheckClasses(mask, name));
  const auto& [height, width, channels] = sample();
  std::vector<uint8_t> placed(size_t(height * width));
  ResizeNearest(std::span<const uint8_t>(mask.pixels), mask.extents,
                CentralCrop(geometry(), mask.extents), height, width, std::span<uint8_t>(placed));
  std::ranges::transform(placed, targets.data<int32_t>() + row * height * width, [](uint8_t value) {
    return value == kMaskWithoutClass ? kUnlabelledPixel : int32_t{value};
  });
  return absl::OkStatus();
}

absl::Status Masks::Open(const MasksOptions& options) {
  if (options.train.empty() && options.test.empty()) {
    return absl::InvalidArgumentError("masks: no path was given");
  }
  DTNN_RETURN_IF_ERROR(CheckGeometry(geometry()));
  if (!options.train.empty()) {
    DTNN_ASSIGN_OR_RETURN(train_,
                          ListMaskFiles((fs::path(options.train) / "train").string(), unused_));
  }
  if (!options.test.empty()) {
    DTNN_ASSIGN_OR_RETURN(const std::string test, FolderOfSplit(options.test, Split::kTest));
    renamed_ = TestFolderWarning(options.test, test);
    DTNN_ASSIGN_OR_RETURN(test_, ListMaskFiles(test, unused_));
  }
  DTNN_RETURN_IF_ERROR(
      NameClasses(options.train.empty() ? options.test : options.train, options.skip_damaged));
  return Init(options.skip_damaged);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenMasks(const MasksOptions& options) {
  auto masks = std::make_unique<Masks>(options.geometry);
  DTNN_RETURN_IF_ERROR(masks->Open(options));
  return masks;
}

}  // namespace dtnn
