#include "data/transforms/transformed.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Transformed : public Dataset {
 public:
  Transformed(std::shared_ptr<const Dataset> dataset, const Geometry& geometry)
      : dataset_(std::move(dataset)),
        window_(CentralCrop(geometry, dataset_->sample())),
        sample_(ExtentsAfter(geometry, dataset_->sample())),
        geometry_(geometry) {}

  std::string_view name() const override { return dataset_->name(); }
  ImageExtents sample() const override { return sample_; }
  int64_t outputs() const override { return dataset_->outputs(); }
  TargetKind target_kind() const override { return dataset_->target_kind(); }
  bool counts_classes() const override { return dataset_->counts_classes(); }
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }
  bool names_number_classes() const override { return dataset_->names_number_classes(); }
  int64_t size(Split split) const override { return dataset_->size(split); }
  SampleGroups groups(Split split) const override { return dataset_->groups(split); }
  Preprocessing preprocessing() const override {
    Preprocessing preprocessing = dataset_->preprocessing();
    std::optional<ImageGeometry>& image = preprocessing.geometry;
    if (image && image->geometry.resize > 0) {
      image->side = dataset_->sample().height;
      image->then = geometry_;
    } else {
      image = ImageGeometry{geometry_, /*of_values=*/true};
    }
    return preprocessing;
  }
  std::vector<int32_t> labels(Split split) const override { return dataset_->labels(split); }
  std::vector<std::string> warnings() const override { return dataset_->warnings(); }
  bool decodes() const override { return true; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    // One sample and its labels, as `dataset_` gives them.
    DTNN_ASSIGN_OR_RETURN(const Tensor source,
                          Tensor::Allocate(Device::Cpu(), x.dtype(),
                                           SampleShape(dataset_->sample(), format).Prepend(1)));
    const bool pixels = target_kind() == TargetKind::kPixels;
    Tensor labels;
    if (pixels) {
      DTNN_ASSIGN_OR_RETURN(
          labels, Tensor::Allocate(Device::Cpu(), DType::kInt32, TargetShape(*dataset_, 1)));
    }
    const size_t from = size_t(source.num_elements());
    const size_t to = size_t(SampleShape(sample_, format).NumElements());
    for (size_t i = 0; i < indices.size(); ++i) {
      const Tensor target = pixels ? labels : targets.Samples(int64_t(i), 1, format);
      DTNN_RETURN_IF_ERROR(dataset_->Read(split, indices.subspan(i, 1), format, source, target));
      if (pixels) MoveLabels(labels, int64_t(i), targets);
      DispatchFloating(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        ResizeBilinear(std::span<const T>(source.data<T>(), from), dataset_->sample(), format,
                       window_, sample_.height, sample_.width,
                       std::span<T>(x.data<T>() + i * to, to));
      });
    }
    return absl::OkStatus();
  }

 private:
  // The classes of a sample's pixels go where the pixels go.
  void MoveLabels(const Tensor& labels, int64_t row, const Tensor& targets) const {
    const ImageExtents from = {dataset_->sample().height, dataset_->sample().width, 1};
    const size_t to = size_t(sample_.height * sample_.width);
    ResizeNearest(std::span<const int32_t>(labels.data<int32_t>(), size_t(labels.num_elements())),
                  from, window_, sample_.height, sample_.width,
                  std::span<int32_t>(targets.data<int32_t>() + size_t(row) * to, to));
  }

  const std::shared_ptr<const Dataset> dataset_;
  const Window window_;
  const ImageExtents sample_;
  const Geometry geometry_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> Transform(std::shared_ptr<const Dataset> dataset,
                                                         const Geometry& geometry) {
  DTNN_RETURN_IF_ERROR(CheckGeometry(geometry));
  if (ExtentsAfter(geometry, dataset->sample()) == dataset->sample() &&
      ExtentsAfter({.square = geometry.square, .crop = geometry.crop}, dataset->sample()) ==
          dataset->sample()) {
    return dataset;
  }
  return std::make_shared<Transformed>(std::move(dataset), geometry);
}

}  // namespace dtnn
