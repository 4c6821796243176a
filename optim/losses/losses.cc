#include "optim/losses/losses.h"

#include "optim/losses/binary_cross_entropy.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/mae.h"
#include "optim/losses/mse.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

struct Entry {
  std::string_view name;
  std::shared_ptr<const Loss> (*make)(const LossOptions& options);
};

template <class L>
std::shared_ptr<const Loss> Make(const LossOptions&) {
  return std::make_shared<L>();
}

constexpr Entry kLosses[] = {
    {"categorical_cross_entropy",
     [](const LossOptions& options) -> std::shared_ptr<const Loss> {
       return std::make_shared<CategoricalCrossEntropy>(CategoricalCrossEntropyOptions{
           .label_smoothing = options.label_smoothing, .class_weights = options.class_weights});
     }},
    {"binary_cross_entropy",
     [](const LossOptions& options) -> std::shared_ptr<const Loss> {
       return std::make_shared<BinaryCrossEntropy>(
           BinaryCrossEntropyOptions{.label_smoothing = options.label_smoothing});
     }},
    {"mse", Make<MeanSquaredError>},
    {"mae", Make<MeanAbsoluteError>},
};

}  // namespace

std::vector<std::string_view> LossNames() { return NamesIn(kLosses); }

absl::StatusOr<std::shared_ptr<const Loss>> MakeLoss(std::string_view name,
                                                     const LossOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const Entry* entry, FindNamed(kLosses, "loss", name));
  return entry->make(options);
}

}  // namespace dtnn
