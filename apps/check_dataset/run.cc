#include "apps/check_dataset/run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/check_dataset/expected_files.h"
#include "apps/check_dataset/folder_facts.h"
#include "apps/flags/option_table.h"
#include "apps/flags/options.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "data/class_warnings.h"
#include "data/dataset.h"
#include "data/datasets/folder.h"
#include "models/run/samples/make_dataset.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/text/counted.h"
#include "tensor/text/nearest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

struct Opened {
  std::shared_ptr<const Dataset> dataset;
  bool resized = false;  // the extents of samples are not those of the images
};

// As the launcher opens it. Images of any size pass: whether a network can be trained on them as
// they are is another question.
absl::StatusOr<Opened> Open(const CheckOptions& asked) {
  Options options;
  options.data.name = asked.dataset;
  options.data.path = asked.path;
  options.training.evaluate = true;  // both splits
  const bool imagenet = asked.dataset == "imagenet";
  if (imagenet) {  // its prepared files have one size and are not decoded again
    absl::StatusOr<std::shared_ptr<const Dataset>> as_it_is = MakeDataset(options);
    if (as_it_is.ok()) return Opened{*std::move(as_it_is)};
  }
  if (imagenet || asked.dataset == "folder" || asked.dataset == "masks" ||
      asked.dataset == "chestxray") {
    options.data.resize = true;
    options.data.resize_side = 64;
  }
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset, MakeDataset(options));
  return Opened{std::move(dataset), options.data.resize.value_or(false)};
}

std::string_view Word(FileState state) {
  switch (state) {
    case FileState::kFound:
    case FileState::kUnknown:
      return "found";
    case FileState::kMissing:
      return "missing";
    case FileState::kWrongSize:
      return "wrong size";
    case FileState::kWrongChecksum:
      return "wrong checksum";
    case FileState::kUnreadable:
      return "unreadable";
  }
  return "";
}

int64_t PrintFiles(const FilesReport& report, std::ostream& out) {
  int64_t wrong = 0;
  for (const FileReport& file : report.files) {
    out << absl::StrFormat("  %-32s %s%s%s\n", file.name, std::string(Word(file.state)),
                           file.detail.empty() ? "" : ": ", file.detail);
    if (file.wrong()) ++wrong;
  }
  return wrong;
}

// Without the advice to those who train with it.
std::string_view WhatIsWrong(const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  const std::optional<NamedArgument> advice = FindNamedArgument(status);
  return advice ? message.substr(0, message.rfind("; ", advice->place)) : message;
}

// The number of samples that cannot be read; prints them in the data set's order, whichever thread
// finds them first.
int64_t ReadAll(const Dataset& dataset, Split split, std::ostream& out) {
  std::mutex mutex;
  std::map<int64_t, std::string> bad;
  const auto report = [&](int64_t sample, const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex);
    bad.emplace(sample, WhatIsWrong(status));
  };
  const auto read = [&](int64_t begin, int64_t end) -> absl::Status {
    const Shape sample = SampleShape(dataset.sample(), TensorFormat::kNHWC);
    DTNN_ASSIGN_OR_RETURN(const Tensor x,
                          Tensor::Allocate(Device::Cpu(), DType::kFloat32, sample.Prepend(1)));
    DTNN_ASSIGN_OR_RETURN(const Tensor targets,
                          Tensor::Allocate(Device::Cpu(), TargetDType(dataset, DType::kFloat32),
                                           TargetShape(dataset, 1)));
    for (int64_t i = begin; i < end; ++i) {
      const absl::Status status =
          dataset.Read(split, std::span(&i, 1), TensorFormat::kNHWC, x, targets);
      if (!status.ok()) report(i, status);
    }
    return absl::OkStatus();
  };
  ParallelFor(0, dataset.size(split), 1, [&](int64_t begin, int64_t end) {
    if (const absl::Status status = read(begin, end); !status.ok()) report(begin, status);
  });
  for (const auto& [sample, message] : bad) out << "  " << OneLine(message) << "\n";
  return int64_t(bad.size());
}

std::string Describe(const Opened& opened) {
  const ImageExtents sample = opened.dataset->sample();
  if (opened.resized) return ", images of " + Counted(sample.channels, "channel");
  return absl::StrFormat(" of %d x %d x %d (channels, height, width)", sample.channels,
                         sample.height, sample.width);
}

// How many samples each class has, where that is known without reading them.
std::string DescribeClasses(const Dataset& dataset, Split split) {
  constexpr size_t kMostListed = 20;
  const std::vector<int64_t> counts = SamplesPerClass(dataset, split);
  if (counts.empty()) return "";
  const std::vector<std::string> names = dataset.class_names();
  const auto name = [&](size_t i) { return i < names.size() ? OneLine(names[i]) : StrCat(i); };
  if (counts.size() <= kMostListed) {
    std::vector<std::string> all;
    for (size_t i = 0; i < counts.size(); ++i) all.push_back(StrCat(name(i), ": ", counts[i]));
    return StrCat("  samples per class: ", absl::StrJoin(all, ", "), "\n");
  }
  const auto [least, most] = std::ranges::minmax_element(counts);
  const int64_t none = std::ranges::count(counts, 0);
  return StrCat("  samples per class: from ", *least, " (", name(size_t(least - counts.begin())),
                ") to ", *most, " (", name(size_t(most - counts.begin())), ")",
                none > 0 ? StrCat("; ", Counted(none, "class has", "classes have"), " none") : "",
                "\n");
}

absl::Status CheckSamples(const CheckOptions& options, std::ostream& out) {
  DTNN_ASSIGN_OR_RETURN(const Opened opened, Open(options));
  const std::shared_ptr<const Dataset>& dataset = opened.dataset;
  for (const std::string& warning : dataset->warnings()) {
    out << "warning: " << OneLine(warning) << "\n";
  }
  int64_t bad = 0;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    out << Name(split) << " split: " << Counted(dataset->size(split), "sample");
    if (dataset->size(split) > 0) {
      out << Describe(opened) << ", "
          << (dataset->target_kind() == TargetKind::kValues
                  ? Counted(dataset->outputs(), "value")
                  : Counted(dataset->outputs(), "class", "classes"))
          << (dataset->target_kind() == TargetKind::kPixels ? " of pixels" : "");
    }
    out << "\n";
    out << DescribeClasses(*dataset, split);
    const bool masks = options.dataset == "masks";
    if (options.dataset == "folder" || masks) {
      DTNN_ASSIGN_OR_RETURN(const std::string folder, FolderOfSplit(options.path, split));
      DTNN_ASSIGN_OR_RETURN(const std::string facts,
                            DescribeFolder(masks ? folder + "/images" : folder, options.read));
      out << facts;
    }
    if (!options.read) continue;
    const int64_t of_part = ReadAll(*dataset, split, out);
    if (of_part == 0) out << "  all of them can be read\n";
    bad += of_part;
  }
  if (bad == 0) return absl::OkStatus();
  return FailedPrecondition(options.dataset, ": ", Counted(bad, "sample"), " cannot be read");
}

}  // namespace

absl::Status CheckDataset(const CheckOptions& options, std::ostream& out) {
  if (options.dataset.empty()) return UsageError("--dataset: missing; which data set is it?");
  const std::vector<std::string_view> names = SplitList(FindOption("dataset")->words);
  if (std::ranges::find(names, options.dataset) == names.end()) {
    return UsageError("--dataset=", options.dataset, ": must be one of: ",
                      absl::StrJoin(std::vector<std::string>(names.begin(), names.end()), ", "),
                      DidYouMean(options.dataset, names));
  }
  if (options.dataset == "synthetic") {
    out << options.dataset << ": has no files\n";
    return absl::OkStatus();
  }
  if (options.path.empty()) return UsageError("--dataset-path: missing; where are the files?");
  DTNN_ASSIGN_OR_RETURN(const FilesReport files,
                        CheckFiles(options.dataset, options.path, options.read));
  out << options.dataset << " in " << options.path << "\n";
  const int64_t wrong = PrintFiles(files, out);
  const absl::Status samples = wrong == 0 ? CheckSamples(options, out) : absl::OkStatus();
  if (wrong > 0 || !samples.ok()) out << files.how_to_get << "\n";
  if (wrong == 0) return samples;
  return FailedPrecondition(options.dataset, ": ", wrong, " of ",
                            Counted(int64_t(files.files.size()), "file"),
                            wrong == 1 ? " is" : " are", " missing or wrong");
}

}  // namespace dtnn
