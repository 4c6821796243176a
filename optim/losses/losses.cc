#include "optim/losses/losses.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optim/losses/binary_cross_entropy.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/mae.h"
#include "optim/losses/mse.h"

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
       return std::make_shared<CategoricalCrossEntropy>(
           CategoricalCrossEntropyOptions{.label_smoothing = options.label_smoothing});
     }},
    {"binary_cross_entropy", Make<BinaryCrossEntropy>},
    {"mse", Make<MeanSquaredError>},
    {"mae", Make<MeanAbsoluteError>},
};

}  // namespace

std::vector<std::string_view> LossNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kLosses) names.push_back(entry.name);
  return names;
}

absl::StatusOr<std::shared_ptr<const Loss>> MakeLoss(std::string_view name,
                                                     const LossOptions& options) {
  for (const Entry& entry : kLosses) {
    if (entry.name == name) return entry.make(options);
  }
  const std::vector<std::string_view> names = LossNames();
  return absl::NotFoundError(
      absl::StrCat("there is no loss ", std::string(name), "; there are ",
                   absl::StrJoin(std::vector<std::string>(names.begin(), names.end()), ", ")));
}

}  // namespace dtnn
