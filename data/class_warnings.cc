#include "data/class_warnings.h"

#include <algorithm>
#include <numeric>

#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// "cat, dog and 3 more"; numbers where the classes have no names.
std::string Listed(const std::vector<int64_t>& classes, const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(classes.size(), kMost); ++i) {
    const size_t at = size_t(classes[i]);
    StrAppend(&text, i == 0 ? "" : ", ", at < names.size() ? names[at] : StrCat(at));
  }
  if (classes.size() > kMost) StrAppend(&text, " and ", classes.size() - kMost, " more");
  return text;
}

}  // namespace

std::vector<int64_t> SamplesPerClass(const Dataset& dataset, Split split) {
  std::vector<int64_t> counts;
  const std::vector<int32_t> labels = dataset.labels(split);
  if (labels.empty()) return counts;
  counts.resize(size_t(dataset.outputs()));
  for (const int32_t label : labels) ++counts[size_t(label)];
  return counts;
}

std::vector<std::string> ClassWarnings(const Dataset& dataset) {
  std::vector<std::string> warnings;
  const std::vector<int64_t> train = SamplesPerClass(dataset, Split::kTrain);
  if (train.empty()) return warnings;
  const std::vector<std::string> names = dataset.class_names();
  std::vector<int64_t> absent;
  for (size_t i = 0; i < train.size(); ++i) {
    if (train[i] == 0) absent.push_back(int64_t(i));
  }
  if (absent.empty()) return warnings;
  warnings.push_back(StrCat(
      dataset.name(), ": ", absent.size(), " of ",
      Counted(int64_t(train.size()), "class", "classes"), absent.size() == 1 ? " has" : " have",
      " no training samples: ", Listed(absent, names),
      names.empty() && absent == std::vector<int64_t>{0} ? "; labels are numbered from 0" : ""));
  const std::vector<int64_t> test = SamplesPerClass(dataset, Split::kTest);
  int64_t unseen = 0;
  std::erase_if(absent, [&](int64_t i) { return test.empty() || test[size_t(i)] == 0; });
  for (const int64_t i : absent) unseen += test[size_t(i)];
  if (unseen > 0) {
    warnings.push_back(
        StrCat(dataset.name(), ": ", unseen, " of ",
               Counted(std::accumulate(test.begin(), test.end(), int64_t{0}), "test sample"),
               unseen == 1 ? " is" : " are",
               " of classes without training samples: ", Listed(absent, names)));
  }
  return warnings;
}

}  // namespace dtnn
