#include "data/datasets/imagenet/imagenet_tar.h"

#include <utility>

#include "absl/status/status.h"
#include "data/datasets/image_dataset.h"
#include "data/datasets/imagenet/imagenet_archives.h"
#include "tensor/named_argument.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class ImagenetTar : public ImageDataset {
 public:
  ImagenetTar(ImagenetArchives archives, const Geometry& geometry)
      : ImageDataset(geometry, 3), archives_(std::move(archives)) {}

  using ImageDataset::Init;

  std::string_view name() const override { return "imagenet"; }
  int64_t outputs() const override { return int64_t(archives_.names.size()); }
  std::vector<std::string> class_names() const override { return archives_.words; }

 protected:
  int64_t listed(Split split) const override { return of(split).files.size(); }
  std::vector<int32_t> ListedLabels(Split split) const override { return of(split).labels; }
  absl::Status ReadEncoded(Split split, int64_t index, std::vector<uint8_t>& bytes) const override {
    return of(split).files.Read(index, bytes);
  }
  std::string FileName(Split split, int64_t index) const override {
    return of(split).files.Name(index);
  }
  absl::Status WriteTarget(Split split, int64_t index, std::span<const uint8_t>, int64_t row,
                           const Tensor& targets) const override {
    targets.data<int32_t>()[row] = of(split).labels[size_t(index)];
    return absl::OkStatus();
  }

 private:
  const LabelledFiles& of(Split split) const {
    return split == Split::kTrain ? archives_.train : archives_.validation;
  }

  const ImagenetArchives archives_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImagenetTar(const ImagenetTarOptions& options) {
  if (options.train.empty() && options.test.empty()) {
    return absl::InvalidArgumentError("imagenet: no path was given");
  }
  if (options.geometry.resize == 0) {
    return NamingArgument(
        absl::InvalidArgumentError(
            "imagenet: the images in its archives differ in size: set Geometry::resize "
            "(224 for most networks)"),
        "Geometry::resize");
  }
  DTNN_ASSIGN_OR_RETURN(ImagenetArchives archives, IndexImagenet(options.train, options.test));
  auto imagenet = std::make_unique<ImagenetTar>(std::move(archives), options.geometry);
  DTNN_RETURN_IF_ERROR(imagenet->Init(options.skip_damaged));
  return imagenet;
}

}  // namespace dtnn
