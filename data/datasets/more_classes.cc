#include "data/datasets/more_classes.h"

#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

class MoreClasses : public Dataset {
 public:
  MoreClasses(std::shared_ptr<const Dataset> dataset, int64_t classes)
      : dataset_(std::move(dataset)), classes_(classes) {}

  std::string_view name() const override { return dataset_->name(); }
  ImageExtents sample() const override { return dataset_->sample(); }
  int64_t outputs() const override { return classes_; }
  bool counts_classes() const override { return dataset_->counts_classes(); }
  Preprocessing preprocessing() const override { return dataset_->preprocessing(); }
  std::vector<std::string> warnings() const override { return dataset_->warnings(); }
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }
  int64_t size(Split split) const override { return dataset_->size(split); }
  SampleGroups groups(Split split) const override { return dataset_->groups(split); }
  bool decodes() const override { return dataset_->decodes(); }
  std::optional<TensorFormat> byte_format() const override { return dataset_->byte_format(); }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    return dataset_->Read(split, indices, format, x, targets);
  }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const int64_t classes_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> WithClasses(std::shared_ptr<const Dataset> dataset,
                                                           int64_t classes) {
  if (classes == dataset->outputs()) return dataset;
  if (dataset->target_kind() != TargetKind::kClass || classes < dataset->outputs()) {
    return InvalidArgument(
        dataset->name(), ": has ", dataset->outputs(), " ",
        dataset->target_kind() == TargetKind::kClass ? "classes" : "values per sample",
        ", which cannot become ", classes, " classes");
  }
  return std::make_shared<MoreClasses>(std::move(dataset), classes);
}

}  // namespace dtnn
