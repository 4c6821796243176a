#include "data/datasets/more_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "data/check_labels.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class MoreClasses : public Dataset {
 public:
  // `numbers`: for each class of the data set, which one it is here; empty: the same.
  MoreClasses(std::shared_ptr<const Dataset> dataset, int64_t classes,
              std::vector<std::string> names, std::vector<int32_t> numbers)
      : dataset_(std::move(dataset)),
        classes_(classes),
        names_(std::move(names)),
        numbers_(std::move(numbers)) {}

  std::string_view name() const override { return dataset_->name(); }
  ImageExtents sample() const override { return dataset_->sample(); }
  int64_t outputs() const override { return classes_; }
  TargetKind target_kind() const override { return dataset_->target_kind(); }
  bool counts_classes() const override { return dataset_->counts_classes(); }
  Preprocessing preprocessing() const override { return dataset_->preprocessing(); }
  std::vector<int32_t> labels(Split split) const override {
    std::vector<int32_t> labels = dataset_->labels(split);
    if (numbers_.empty()) return labels;
    for (int32_t& label : labels) label = numbers_[size_t(label)];
    return labels;
  }
  std::vector<std::string> warnings() const override { return dataset_->warnings(); }
  std::vector<std::string> class_names() const override { return names_; }
  bool names_number_classes() const override {
    return !numbers_.empty() || dataset_->names_number_classes();
  }
  int64_t size(Split split) const override { return dataset_->size(split); }
  SampleGroups groups(Split split) const override { return dataset_->groups(split); }
  bool decodes() const override { return dataset_->decodes(); }
  std::optional<TensorFormat> byte_format() const override { return dataset_->byte_format(); }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(dataset_->Read(split, indices, format, x, targets));
    if (numbers_.empty()) return absl::OkStatus();
    int32_t* const labels = targets.data<int32_t>();
    for (size_t i = 0; i < indices.size(); ++i) {
      DTNN_RETURN_IF_ERROR(CheckLabel(*dataset_, split, indices[i], labels[i]));
      labels[i] = numbers_[size_t(labels[i])];
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const int64_t classes_;
  const std::vector<std::string> names_;
  const std::vector<int32_t> numbers_;
};

std::string ListOf(std::span<const std::string> names) {
  constexpr size_t kMost = 20;
  std::string text = StrCat(names.size(), " (");
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    StrAppend(&text, i == 0 ? "" : ", ", Quoted(names[i], 40));
  }
  return text + (names.size() > kMost ? ", ...)" : ")");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> WithClasses(std::shared_ptr<const Dataset> dataset,
                                                           int64_t classes) {
  if (classes == dataset->outputs()) return dataset;
  if (dataset->target_kind() == TargetKind::kValues || classes < dataset->outputs()) {
    return InvalidArgument(
        dataset->name(), ": has ", dataset->outputs(), " ",
        dataset->target_kind() == TargetKind::kValues ? "values per sample" : "classes",
        ", which cannot become ", classes, " classes");
  }
  std::vector<std::string> names = dataset->class_names();
  return std::make_shared<MoreClasses>(std::move(dataset), classes, std::move(names),
                                       std::vector<int32_t>());
}

absl::StatusOr<std::shared_ptr<const Dataset>> WithClassNames(
    std::shared_ptr<const Dataset> dataset, std::span<const std::string> names) {
  const std::vector<std::string> own = dataset->class_names();
  if (own.empty() || names.empty() || std::ranges::equal(own, names)) return dataset;
  std::map<std::string_view, int32_t> number_of;
  for (const std::string& name : names) number_of.emplace(name, int32_t(number_of.size()));
  const std::set<std::string_view> distinct(own.begin(), own.end());
  bool fits = dataset->target_kind() == TargetKind::kClass && number_of.size() == names.size() &&
              distinct.size() == own.size() && int64_t(own.size()) == dataset->outputs();
  std::vector<int32_t> numbers;
  for (const std::string& name : own) {
    const auto found = number_of.find(name);
    fits &= found != number_of.end();
    if (fits) numbers.push_back(found->second);
  }
  if (!fits) {
    return InvalidArgument("data set ", dataset->name(), " has the classes ", ListOf(own),
                           ", which do not fit ", ListOf(names));
  }
  for (const Split split : {Split::kTrain, Split::kTest}) {
    DTNN_RETURN_IF_ERROR(CheckLabels(*dataset, split));
  }
  return std::make_shared<MoreClasses>(std::move(dataset), int64_t(names.size()),
                                       std::vector<std::string>(names.begin(), names.end()),
                                       std::move(numbers));
}

}  // namespace dtnn
