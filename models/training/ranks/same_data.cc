#include "models/training/ranks/same_data.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/gather_values.h"
#include "data/datasets/more_classes.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kNumbers = 7;

// All but the name, which is an option.
std::vector<int64_t> NumbersOf(const DataFingerprint& print) {
  return {print.sample.height,    print.sample.width, print.sample.channels,  print.outputs,
          int64_t(print.targets), print.samples,      int64_t(print.contents)};
}

DataFingerprint FingerprintOf(const std::string& dataset, const int64_t* numbers) {
  return {.dataset = dataset,
          .sample = {.height = numbers[0], .width = numbers[1], .channels = numbers[2]},
          .outputs = numbers[3],
          .targets = TargetKind(numbers[4]),
          .samples = numbers[5],
          .contents = uint64_t(numbers[6])};
}

// The form of the data, without the samples.
DataFingerprint FormOf(const Dataset& dataset) {
  return {.dataset = std::string(dataset.name()),
          .sample = dataset.sample(),
          .outputs = dataset.outputs(),
          .targets = dataset.target_kind()};
}

// `theirs` is rank 0's.
absl::Status Compare(const DataFingerprint& theirs, const DataFingerprint& mine,
                     std::string_view advice) {
  const std::optional<Difference> difference = FirstDifference(theirs, mine);
  if (!difference) return absl::OkStatus();
  return InvalidArgument("has other data than rank 0: the ", difference->what, " is ",
                         difference->now, ", on rank 0 ", difference->was, "; ", advice);
}

}  // namespace

absl::Status CompareData(Communicator& communicator, const std::vector<DataFingerprint>& mine) {
  std::vector<int64_t> numbers;
  for (const DataFingerprint& print : mine) {
    for (const int64_t number : NumbersOf(print)) numbers.push_back(number);
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(communicator, numbers));
  for (size_t i = 0; i < mine.size(); ++i) {
    DTNN_RETURN_IF_ERROR(
        Compare(FingerprintOf(mine[i].dataset, all.data() + i * kNumbers), mine[i],
                "all ranks need the same data; if each has its own, use AgreeOnClasses"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dataset>> AgreeOnClasses(
    Communicator& communicator, std::shared_ptr<const Dataset> dataset) {
  DataFingerprint form = FormOf(*dataset);
  std::vector<int64_t> numbers = NumbersOf(form);
  numbers.push_back(dataset->counts_classes());
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(communicator, numbers));
  bool counted = true;
  int64_t classes = 0;
  for (size_t rank = 0; rank < size_t(communicator.size()); ++rank) {
    const int64_t* theirs = all.data() + rank * numbers.size();
    counted &= theirs[kNumbers] != 0;
    classes = std::max(classes, FingerprintOf("", theirs).outputs);
  }
  DataFingerprint first = FingerprintOf(form.dataset, all.data());
  if (counted) form.outputs = first.outputs = classes;
  DTNN_RETURN_IF_ERROR(Compare(first, form, "the data of all ranks must have the same form"));
  return counted ? WithClasses(std::move(dataset), classes) : dataset;
}

}  // namespace dtnn
