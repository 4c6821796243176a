#include "models/training/ranks/same_data.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "comm/gather_values.h"
#include "data/datasets/more_classes.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"

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

// The names of every rank's classes. All ranks call it together.
absl::StatusOr<std::vector<std::vector<std::string>>> GatherNames(
    Communicator& communicator, const std::vector<std::string>& mine) {
  std::string text;
  for (const std::string& name : mine) text.append(name).push_back('\0');
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                        GatherValues(communicator, int64_t(text.size())));
  const size_t longest = size_t(std::ranges::max(sizes));
  std::vector<std::vector<std::string>> names(sizes.size());
  if (longest == 0) return names;
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.resize(longest);
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> all, GatherValues<uint8_t>(communicator, bytes));
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto begin = all.begin() + ptrdiff_t(rank * longest);
    std::string name;
    for (const uint8_t byte : std::span(begin, size_t(sizes[rank]))) {
      if (byte != 0) {
        name.push_back(char(byte));
      } else {
        names[rank].push_back(std::exchange(name, {}));
      }
    }
  }
  return names;
}

// What was found by name: a rank may lack classes that another has.
absl::StatusOr<std::shared_ptr<const Dataset>> AgreeOnNames(
    Communicator& communicator, std::shared_ptr<const Dataset> dataset) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::vector<std::string>> names,
                        GatherNames(communicator, dataset->class_names()));
  const auto most = std::ranges::max_element(
      names, [](const auto& a, const auto& b) { return a.size() < b.size(); });
  absl::StatusOr<std::shared_ptr<const Dataset>> named = WithClassNames(dataset, *most);
  if (named.ok()) return named;
  return InvalidArgument("has other classes than rank ", most - names.begin(), ": ",
                         named.status().message(),
                         "; every rank needs classes of the same names, and may lack some");
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
    const absl::Status status =
        Compare(FingerprintOf(mine[i].dataset, all.data() + i * kNumbers), mine[i],
                "all ranks need the same data; if each has its own, use AgreeOnClasses");
    if (!status.ok()) return NamingArgument(status, "AgreeOnClasses");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dataset>> AgreeOnClasses(
    Communicator& communicator, std::shared_ptr<const Dataset> given) {
  absl::StatusOr<std::shared_ptr<const Dataset>> named = AgreeOnNames(communicator, given);
  // Ranks that have found a mistake still do what the others do.
  std::shared_ptr<const Dataset> dataset = named.ok() ? *named : given;
  DataFingerprint form = FormOf(*dataset);
  std::vector<int64_t> numbers = NumbersOf(form);
  numbers.push_back(dataset->counts_classes());
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(communicator, numbers));
  DTNN_RETURN_IF_ERROR(named.status());
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
