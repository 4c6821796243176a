#include "apps/make/make_dataset.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "comm/job/exit_code.h"
#include "data/datasets/chestxray.h"
#include "data/datasets/cifar10.h"
#include "data/datasets/cyclone.h"
#include "data/datasets/folder.h"
#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/mnist.h"
#include "data/datasets/npz_dataset.h"
#include "data/datasets/synthetic.h"
#include "data/datasets/tsunamis.h"
#include "data/images/resize.h"
#include "data/transforms/transformed.h"
#include "tensor/format.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using Made = absl::StatusOr<std::shared_ptr<const Dataset>>;

// Where the parts are; empty: not needed.
struct Paths {
  std::string train, test;
};

struct Row {
  std::string_view name;
  // No samples: it depends on the files. No extents: those of the images.
  DatasetSize size;
  // Crops and resizes every image itself, as images of any extents must be.
  bool has_geometry;
  Made (*load)(const Options& options, const Paths& paths);
};

Geometry GeometryOf(const Options& options) {
  return {.crop = options.transform_crop ? options.transform_crop_perc : 1,
          .resize = options.transform_resize ? options.transform_resize_size : 0};
}

bool IsAlexnet(const Options& options) {
  return options.model.find("alexnet") != std::string::npos;
}

constexpr Row kRows[] = {
    {"mnist",
     {60000, 10000, {28, 28, 1}, 10},
     false,
     [](const Options&, const Paths& paths) -> Made {
       return LoadMnist({paths.train, paths.test});
     }},
    {"cifar10",
     {50000, 10000, {32, 32, 3}, 10},
     false,
     [](const Options&, const Paths& paths) -> Made {
       return LoadCifar10({paths.train, paths.test});
     }},
    {"imagenet",
     {1281167, 50000, {224, 224, 3}, kImagenetClasses},
     true,
     [](const Options& options, const Paths& paths) -> Made {
       return OpenImagenet({.train = paths.train,
                            .test = paths.test,
                            .one_place = TrainPath(options) == TestPath(options),
                            .geometry = GeometryOf(options),
                            .whole = IsAlexnet(options)});
     }},
    {"chestxray",
     {86524, 25596, {1024, 1024, 1}, 15},
     true,
     [](const Options& options, const Paths& paths) -> Made {
       return OpenChestXray(
           {.train = paths.train, .test = paths.test, .geometry = GeometryOf(options)});
     }},
    {"archive",
     {},
     false,
     [](const Options& options, const Paths& paths) -> Made {
       // nullopt for auto
       return LoadNpzDataset({.train = paths.train, .test = paths.test},
                             {.format = ParseTensorFormat(options.archive_format)});
     }},
    {"folder",
     {},
     true,
     [](const Options& options, const Paths& paths) -> Made {
       return OpenFolder(
           {.train = paths.train, .test = paths.test, .geometry = GeometryOf(options)});
     }},
    {"cyclone",
     {50000, 10000, {40, 40, 5}, 2},
     false,
     [](const Options&, const Paths& paths) -> Made {
       return LoadCyclone({paths.train, paths.test});
     }},
    {"tsunamis",
     {50000, 10000, {80, 80, 1}, 1},
     false,
     [](const Options&, const Paths& paths) -> Made {
       return LoadTsunamis({paths.train, paths.test});
     }},
};

const Row* Find(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Before cropping and resizing.
std::optional<DatasetSize> OwnSize(const Options& options) {
  if (options.dataset == "synthetic") {
    const std::vector<int64_t>& input = options.synthetic_input_shape;
    return DatasetSize{.train = options.synthetic_train_samples,
                       .test = options.synthetic_test_samples,
                       .sample = {.height = input[1], .width = input[2], .channels = input[0]},
                       .outputs = options.synthetic_output_shape[0]};
  }
  const Row* row = Find(options.dataset);
  if (row == nullptr || row->size.train == 0) return std::nullopt;
  DatasetSize size = row->size;
  if (row->name == "imagenet" && IsAlexnet(options)) {
    size.sample.height = size.sample.width = kImagenetShardSide;
  }
  return size;
}

Made Synthetic(const Options& options) {
  const std::optional<DatasetSize> size = OwnSize(options);
  if (!size) {
    return UsageError(absl::StrCat("--use-synthetic-data: the sizes of --dataset=", options.dataset,
                                   " depend on its files; use --dataset=synthetic"));
  }
  return MakeSynthetic({.train_samples = size->train,
                        .test_samples = size->test,
                        .sample = size->sample,
                        .classes = size->outputs,
                        .pattern = options.synthetic_pattern == "classes"
                                       ? SyntheticPattern::kClasses
                                       : SyntheticPattern::kZeros,
                        .seed = uint64_t(options.random_seed)});
}

}  // namespace

std::optional<DatasetSize> KnownSize(const Options& options) {
  std::optional<DatasetSize> size = OwnSize(options);
  if (size) size->sample = ExtentsAfter(GeometryOf(options), size->sample);
  return size;
}

absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(const Options& options) {
  const Row* row = Find(options.dataset);
  const bool synthetic = options.dataset == "synthetic" || options.use_synthetic_data;
  if (row == nullptr && !synthetic) {
    return UsageError(absl::StrCat("--dataset: there is no data set ", options.dataset));
  }
  std::shared_ptr<const Dataset> dataset;
  if (synthetic) {
    DTNN_ASSIGN_OR_RETURN(dataset, Synthetic(options));
  } else {
    const Paths paths = {.train = ReadsTraining(options) ? TrainPath(options) : "",
                         .test = ReadsTest(options) ? TestPath(options) : ""};
    DTNN_ASSIGN_OR_RETURN(dataset, row->load(options, paths));
    if (row->has_geometry) return dataset;
  }
  return Transform(std::move(dataset), GeometryOf(options));
}

}  // namespace dtnn
