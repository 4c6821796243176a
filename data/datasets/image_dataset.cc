#include "data/datasets/image_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "absl/strings/str_join.h"
#include "data/images/image_bytes.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// As the header of data sets by name calls it.
constexpr std::string_view kSkipDamagedImages = "OpenDatasetOptions::skip_damaged_images";

std::string Sides(const ImageExtents& extents) {
  return StrCat(extents.width, " x ", extents.height);
}

// Whether the bytes of a file are what is wrong, whenever it is read and on every host.
bool IsDamage(const absl::Status& decoded) {
  return absl::IsDataLoss(decoded) || absl::IsInvalidArgument(decoded) ||
         absl::IsUnimplemented(decoded);  // a kind of JPEG that is not supported
}

// An error about damage, with the option that skips such files.
absl::Status OfferToSkip(const absl::Status& damage) {
  const std::string why(damage.message());
  return NamingArgument(
      absl::Status(damage.code(), StrCat(why, why.ends_with('?') ? " " : "; ", kSkipDamagedImages,
                                         " leaves damaged images out")),
      kSkipDamagedImages);
}

Image Transformed(Image image, const Geometry& geometry) {
  if (geometry == Geometry()) return image;
  Image result = {ExtentsAfter(geometry, image.extents), {}};
  const auto& [height, width, channels] = result.extents;
  result.pixels.resize(size_t(height * width * channels));
  ResizeBilinear(image.pixels, image.extents, TensorFormat::kNHWC,
                 CentralCrop(geometry, image.extents), height, width,
                 std::span<uint8_t>(result.pixels));
  return result;
}

}  // namespace

ImageDataset::ImageDataset(const Geometry& geometry, int channels, int64_t max_pixels)
    : geometry_(geometry), decoding_{.channels = channels, .max_pixels = max_pixels} {}

int64_t ImageDataset::size(Split split) const {
  return kept_ ? int64_t((*kept_)[size_t(split)].size()) : listed(split);
}

int64_t ImageDataset::Listed(Split split, int64_t sample) const {
  return kept_ ? (*kept_)[size_t(split)][size_t(sample)] : sample;
}

std::vector<int32_t> ImageDataset::labels(Split split) const {
  std::vector<int32_t> all = ListedLabels(split);
  if (!kept_ || all.empty()) return all;
  std::vector<int32_t> labels;
  for (const int64_t index : (*kept_)[size_t(split)]) labels.push_back(all[size_t(index)]);
  return labels;
}

std::vector<std::string> ImageDataset::warnings() const {
  constexpr size_t kNamed = 3;
  if (damaged_.empty()) return {};
  const std::span<const std::string> named(damaged_.data(), std::min(kNamed, damaged_.size()));
  const size_t others = damaged_.size() - named.size();
  return {StrCat(Counted(int64_t(damaged_.size()), "image"),
                 damaged_.size() == 1 ? " is damaged and skipped: " : " are damaged and skipped: ",
                 absl::StrJoin(named, ", "), others > 0 ? StrCat(" and ", others, " more") : "")};
}

absl::Status ImageDataset::Init(bool skip_damaged) {
  DTNN_RETURN_IF_ERROR(CheckGeometry(geometry_));
  if (skip_damaged) {
    kept_.emplace();
    for (const Split split : {Split::kTrain, Split::kTest}) {
      DTNN_RETURN_IF_ERROR(FindDamaged(split));
    }
  }
  if (geometry_.resize > 0) {
    decoding_.shortest_side = ShortestSide(geometry_, geometry_.resize);
    sample_ = {geometry_.resize, geometry_.resize, decoding_.channels};
    return absl::OkStatus();
  }
  const Split split = size(Split::kTrain) > 0 ? Split::kTrain : Split::kTest;
  std::vector<uint8_t> bytes;
  DTNN_ASSIGN_OR_RETURN(const Image first, ReadImage(split, Listed(split, 0), bytes));
  sample_ = first.extents;
  return absl::OkStatus();
}

absl::Status ImageDataset::FindDamaged(Split split) {
  ImageOptions smallest = decoding_;
  smallest.shortest_side = 1;
  std::mutex mutex;
  std::map<int64_t, std::pair<absl::Status, bool>> errors;
  ParallelFor(0, listed(split), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      bool damaged = false;
      std::vector<uint8_t> bytes;
      absl::Status status = Decode(split, i, smallest, bytes, &damaged).status();
      if (status.ok()) {
        status = CheckTarget(split, i);
        damaged = absl::IsDataLoss(status);
      }
      if (status.ok()) continue;
      std::lock_guard<std::mutex> lock(mutex);
      errors.emplace(i, std::pair(status, damaged));
    }
  });
  std::vector<int64_t>& kept = (*kept_)[size_t(split)];
  for (int64_t i = 0; i < listed(split); ++i) {
    const auto error = errors.find(i);
    if (error == errors.end()) {
      kept.push_back(i);
    } else if (const auto& [status, damaged] = error->second; damaged) {
      damaged_.push_back(FileName(split, i));
    } else {
      return status;  // another rank, or the next run, may be able to read that file
    }
  }
  if (!kept.empty() || errors.empty()) return absl::OkStatus();
  return FailedPrecondition(name(), ": all images of the ", Name(split),
                            " split are damaged: ", errors.begin()->second.first.message());
}

absl::StatusOr<Image> ImageDataset::Decode(Split split, int64_t index, const ImageOptions& decoding,
                                           std::vector<uint8_t>& bytes, bool* damaged) const {
  const std::string name = FileName(split, index);
  try {
    if (const absl::Status read = ReadEncoded(split, index, bytes); !read.ok()) {
      *damaged = absl::IsInvalidArgument(read);
      return read;
    }
    absl::StatusOr<Image> image = DecodeImage(bytes, name, decoding);
    *damaged = IsDamage(image.status());
    return image;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(name, ": not enough memory to read it");
  }
}

// The image after the crop and the resize.
absl::StatusOr<Image> ImageDataset::ReadImage(Split split, int64_t index,
                                              std::vector<uint8_t>& bytes) const {
  bool damaged = false;
  absl::StatusOr<Image> image = Decode(split, index, decoding_, bytes, &damaged);
  if (image.ok()) {
    try {
      return Transformed(*std::move(image), geometry_);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted(FileName(split, index), ": not enough memory to resize it");
    }
  }
  if (kept_ || !damaged) return image;
  return OfferToSkip(image.status());
}

absl::Status ImageDataset::Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                                const Tensor& x, const Tensor& targets) const {
  DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
  std::vector<uint8_t> bytes;
  for (int64_t row = 0; row < int64_t(indices.size()); ++row) {
    const int64_t index = Listed(split, indices[size_t(row)]);
    DTNN_ASSIGN_OR_RETURN(const Image image, ReadImage(split, index, bytes));
    if (image.extents != sample_) {
      const Split first = size(Split::kTrain) > 0 ? Split::kTrain : Split::kTest;
      return NamingArgument(
          InvalidArgument(FileName(split, index), ": has ", Sides(image.extents),
                          " pixels, but the first image, ", FileName(first, Listed(first, 0)),
                          ", has ", Sides(sample_),
                          "; images of different sizes need Geometry::resize"),
          "Geometry::resize");
    }
    PutImage(image.pixels, TensorFormat::kNHWC, image.extents, format, x, row);
    const absl::Status target = WriteTarget(split, index, bytes, row, targets);
    if (!target.ok()) return absl::IsDataLoss(target) && !kept_ ? OfferToSkip(target) : target;
  }
  return absl::OkStatus();
}

}  // namespace dtnn
