#include "apps/check_dataset_run.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/exit_code.h"
#include "apps/expected_files.h"
#include "apps/flags/nearest.h"
#include "data/chestxray.h"
#include "data/cifar10.h"
#include "data/cyclone.h"
#include "data/dataset.h"
#include "data/folder.h"
#include "data/imagenet.h"
#include "data/mnist.h"
#include "data/npz_dataset.h"
#include "data/tsunamis.h"
#include "tensor/parallel_for.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using Opened = absl::StatusOr<std::shared_ptr<const Dataset>>;

// Images of any size pass: whether a network can be trained on them as they are is another
// question.
constexpr Geometry kAnySize = {.crop = 1, .resize = 64};

struct Row {
  std::string_view name;
  Opened (*open)(const std::string& path);
};

constexpr Row kRows[] = {
    {"mnist",
     [](const std::string& path) -> Opened {
       return LoadMnist({path, path});
     }},
    {"cifar10",
     [](const std::string& path) -> Opened {
       return LoadCifar10({path, path});
     }},
    {"imagenet",
     [](const std::string& path) -> Opened {
       absl::StatusOr<std::shared_ptr<const Dataset>> as_it_is = OpenImagenet({path, path});
       if (as_it_is.ok()) return as_it_is;
       return OpenImagenet({.train = path, .test = path, .geometry = kAnySize});
     }},
    {"chestxray",
     [](const std::string& path) -> Opened {
       return OpenChestXray({.train = path, .test = path, .geometry = kAnySize});
     }},
    {"cyclone",
     [](const std::string& path) -> Opened {
       return LoadCyclone({path, path});
     }},
    {"tsunamis",
     [](const std::string& path) -> Opened {
       return LoadTsunamis({path, path});
     }},
    {"archive",
     [](const std::string& path) -> Opened {
       return LoadNpzDataset({path, path});
     }},
    {"folder",
     [](const std::string& path) -> Opened {
       return OpenFolder({.train = path, .test = path, .geometry = kAnySize});
     }},
    {"synthetic", nullptr},  // there is nothing to check
};

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

// Samples that cannot be read, the first of which are printed.
int64_t ReadAll(const Dataset& dataset, Part part, std::ostream& out) {
  constexpr int64_t kShown = 20;
  std::mutex mutex;
  int64_t bad = 0;
  const auto report = [&](const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (++bad <= kShown) out << "  " << OneLine(std::string(status.message())) << "\n";
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
          dataset.Read(part, std::span(&i, 1), TensorFormat::kNHWC, x, targets);
      if (!status.ok()) report(status);
    }
    return absl::OkStatus();
  };
  ParallelFor(0, dataset.size(part), 1, [&](int64_t begin, int64_t end) {
    if (const absl::Status status = read(begin, end); !status.ok()) report(status);
  });
  if (bad > kShown) out << "  and " << bad - kShown << " more\n";
  return bad;
}

absl::Status CheckSamples(const CheckOptions& options, const Row& row, std::ostream& out) {
  DTNN_ASSIGN_OR_RETURN(const auto dataset, row.open(options.path));
  const ImageExtents sample = dataset->sample();
  int64_t bad = 0;
  for (const Part part : {Part::kTrain, Part::kTest}) {
    out << absl::StrFormat("%s part: %d samples", std::string(Name(part)), dataset->size(part));
    if (dataset->size(part) > 0) {
      out << absl::StrFormat(" of %d x %d x %d (channels, height, width), %d %s", sample.channels,
                             sample.height, sample.width, dataset->outputs(),
                             dataset->target_kind() == TargetKind::kClass ? "classes" : "values");
    }
    out << "\n";
    if (!options.read) continue;
    const int64_t of_part = ReadAll(*dataset, part, out);
    if (of_part == 0) out << "  all of them can be read\n";
    bad += of_part;
  }
  if (bad == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(options.dataset, ": ", bad, " samples cannot be read"));
}

}  // namespace

absl::Status CheckDataset(const CheckOptions& options, std::ostream& out) {
  const Row* row = nullptr;
  std::vector<std::string_view> names;
  for (const Row& candidate : kRows) {
    if (candidate.name == options.dataset) row = &candidate;
    names.push_back(candidate.name);
  }
  if (row == nullptr) {
    return UsageError(absl::StrCat("--dataset=", options.dataset, ": unknown data set",
                                   DidYouMean(options.dataset, names)));
  }
  if (row->open == nullptr) {
    out << options.dataset << ": has no files\n";
    return absl::OkStatus();
  }
  if (options.path.empty()) return UsageError("--dataset-path: missing; where are the files?");
  DTNN_ASSIGN_OR_RETURN(const FilesReport files,
                        CheckFiles(options.dataset, options.path, options.read));
  out << options.dataset << " in " << options.path << "\n";
  const int64_t wrong = PrintFiles(files, out);
  const absl::Status samples = wrong == 0 ? CheckSamples(options, *row, out) : absl::OkStatus();
  if (wrong > 0 || !samples.ok()) out << files.how_to_get << "\n";
  if (wrong == 0) return samples;
  return absl::FailedPreconditionError(absl::StrCat(
      options.dataset, ": ", wrong, " of ", files.files.size(), " files are missing or wrong"));
}

}  // namespace dtnn
