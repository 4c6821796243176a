// What data sets of image files share: samples that stay on disk as JPEG or PNG until they are
// read, and are decoded, cropped, resized and converted then.
//
// A subclass says where the bytes of a file are and what is to be predicted of it; Read does the
// rest, on the calling thread, so as many images are decoded at a time as threads call it. Memory
// is that of the list of files plus one image per thread.
//
// All samples have the same extents. With a resize they are those asked for. Without, they are
// those of the first image (after the crop), and the first other one that is read is an error that
// names it: opening looks at one file only.
//
// Damaged files, those that cannot be decoded or are too large (read_bytes.h), are errors when they
// are read, or, where that is asked for, are found at opening, which then reads and decodes all
// files (JPEG at an eighth of its extents), and are skipped. A file that cannot be read is an error
// in any case: which samples there are depends on the bytes of the files alone, so all ranks, and a
// resumed run, have the same.

#ifndef DTNN_DATA_DATASETS_IMAGE_DATASET_H_
#define DTNN_DATA_DATASETS_IMAGE_DATASET_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "data/images/image.h"
#include "data/images/resize.h"
#include "tensor/format.h"

namespace dtnn {

class ImageDataset : public Dataset {
 public:
  // `geometry` applies to every image of both splits. `channels`: 1 or 3. `max_pixels` guards
  // against files that would take all memory.
  ImageDataset(const Geometry& geometry, int channels, int64_t max_pixels = kMaxImagePixels);

  int64_t size(Split split) const final;
  std::vector<int32_t> labels(Split split) const final;
  // One line that names damaged files that are skipped, if any.
  std::vector<std::string> warnings() const override;
  ImageExtents sample() const override { return sample_; }
  bool decodes() const override { return true; }
  std::optional<TensorFormat> byte_format() const override { return TensorFormat::kNHWC; }
  Preprocessing preprocessing() const override {
    return {.geometry = ImageGeometry{geometry_, /*of_values=*/false}};
  }
  // A JPEG that is far larger than the resize needs is decoded at 1/2, 1/4 or 1/8, which still
  // leaves at least twice the extents that are asked for.
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override;

 protected:
  // To be called once all else is ready: checks the geometry, finds damaged files where they are to
  // be skipped and, where nothing is resized, reads the first image. FailedPrecondition where all
  // images of a split are damaged.
  absl::Status Init(bool skip_damaged);

  // The images of a split, damaged ones too; `index` below counts them.
  virtual int64_t listed(Split split) const = 0;
  // The class of each; empty where targets are values.
  virtual std::vector<int32_t> ListedLabels(Split) const { return {}; }
  // The bytes of image `index` into `bytes`; the message of an error names the file.
  // InvalidArgument for a file that is larger than read_bytes.h's limit, and for nothing else.
  virtual absl::Status ReadEncoded(Split split, int64_t index,
                                   std::vector<uint8_t>& bytes) const = 0;
  // For messages.
  virtual std::string FileName(Split split, int64_t index) const = 0;
  // Writes what is to be predicted of image `index` to row `row` of `targets`. `encoded`: the bytes
  // of the image's file. Errors name a file.
  virtual absl::Status WriteTarget(Split split, int64_t index, std::span<const uint8_t> encoded,
                                   int64_t row, const Tensor& targets) const = 0;
  // Where targets are in files of their own: not OK if that of image `index` cannot be decoded.
  // DataLoss: the file is damaged.
  virtual absl::Status CheckTarget(Split, int64_t) const { return absl::OkStatus(); }

  const Geometry& geometry() const { return geometry_; }

 private:
  int64_t Listed(Split split, int64_t sample) const;
  // `damaged` becomes true where the file's own bytes, which `bytes` receives, are the reason of an
  // error.
  absl::StatusOr<Image> Decode(Split split, int64_t index, const ImageOptions& decoding,
                               std::vector<uint8_t>& bytes, bool* damaged) const;
  absl::StatusOr<Image> ReadImage(Split split, int64_t index, std::vector<uint8_t>& bytes) const;
  absl::Status FindDamaged(Split split);

  const Geometry geometry_;
  ImageOptions decoding_;
  ImageExtents sample_;
  // The images that are samples, by split, where damaged files are skipped.
  std::optional<std::array<std::vector<int64_t>, 2>> kept_;
  std::vector<std::string> damaged_;  // their names
};

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGE_DATASET_H_
