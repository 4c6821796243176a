#include "data/loading/open_dataset.h"

#include <algorithm>
#include <utility>

#include "data/datasets/chestxray.h"
#include "data/datasets/cifar10.h"
#include "data/datasets/cyclone.h"
#include "data/datasets/folder.h"
#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/masks/masks.h"
#include "data/datasets/mnist.h"
#include "data/datasets/npz_dataset.h"
#include "data/datasets/tsunamis.h"
#include "data/transforms/transformed.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

using Opened = absl::StatusOr<std::shared_ptr<const Dataset>>;

// Where the splits are; empty: not read.
struct Paths {
  std::string train, test;
  bool one_place;  // also where only one of them is read
};

struct Row {
  std::string_view name;
  // No samples: it depends on the files. No extents: those of the images, whose channels are known
  // where it has a geometry.
  DatasetSize size;
  // Crops and resizes every image itself, as images of any extents must be.
  bool has_geometry;
  Opened (*open)(const OpenDatasetOptions& options, const Paths& paths);
};

constexpr Row kRows[] = {
    {"mnist",
     {60000, 10000, {28, 28, 1}, 10},
     false,
     [](const OpenDatasetOptions&, const Paths& paths) -> Opened {
       return LoadMnist({paths.train, paths.test});
     }},
    {"cifar10",
     {50000, 10000, {32, 32, 3}, 10},
     false,
     [](const OpenDatasetOptions&, const Paths& paths) -> Opened {
       return LoadCifar10({paths.train, paths.test});
     }},
    {"imagenet",
     {1281167, 50000, {224, 224, 3}, kImagenetClasses},
     true,
     [](const OpenDatasetOptions& options, const Paths& paths) -> Opened {
       return OpenImagenet({.train = paths.train,
                            .test = paths.test,
                            .one_place = paths.one_place,
                            .geometry = options.geometry,
                            .skip_damaged = options.skip_damaged_images,
                            .whole = options.imagenet_whole});
     }},
    {"chestxray",
     {86524, 25596, {1024, 1024, 1}, 15},
     true,
     [](const OpenDatasetOptions& options, const Paths& paths) -> Opened {
       return OpenChestXray({.train = paths.train,
                             .test = paths.test,
                             .geometry = options.geometry,
                             .skip_damaged = options.skip_damaged_images});
     }},
    {"archive",
     {},
     false,
     [](const OpenDatasetOptions& options, const Paths& paths) -> Opened {
       return LoadNpzDataset({.train = paths.train, .test = paths.test},
                             {.format = options.archive_format});
     }},
    {"folder",
     {0, 0, {0, 0, 3}, 0},
     true,
     [](const OpenDatasetOptions& options, const Paths& paths) -> Opened {
       return OpenFolder({.train = paths.train,
                          .test = paths.test,
                          .geometry = options.geometry,
                          .skip_damaged = options.skip_damaged_images});
     }},
    {"masks",
     {0, 0, {0, 0, 3}, 0},
     true,
     [](const OpenDatasetOptions& options, const Paths& paths) -> Opened {
       return OpenMasks({.train = paths.train,
                         .test = paths.test,
                         .geometry = options.geometry,
                         .skip_damaged = options.skip_damaged_images});
     }},
    {"cyclone",
     {50000, 10000, {40, 40, 5}, 2},
     false,
     [](const OpenDatasetOptions&, const Paths& paths) -> Opened {
       return LoadCyclone({paths.train, paths.test});
     }},
    {"tsunamis",
     {50000, 10000, {80, 80, 1}, 1},
     false,
     [](const OpenDatasetOptions&, const Paths& paths) -> Opened {
       return LoadTsunamis({paths.train, paths.test});
     }},
    {"synthetic",
     {},
     false,
     [](const OpenDatasetOptions& options, const Paths&) -> Opened {
       return MakeSynthetic(options.synthetic);
     }},
};

// Before cropping and resizing.
std::optional<DatasetSize> OwnSize(const Row& row, const OpenDatasetOptions& options) {
  if (row.name == "synthetic") {
    const SyntheticOptions& made = options.synthetic;
    return DatasetSize{made.train_samples, made.test_samples, made.sample, made.classes};
  }
  if (row.size.train == 0) return std::nullopt;
  DatasetSize size = row.size;
  if (row.name == "imagenet" && options.imagenet_whole) {
    size.sample.height = size.sample.width = kImagenetShardSide;
  }
  return size;
}

}  // namespace

std::vector<std::string_view> DatasetNames() { return NamesIn(kRows); }

std::optional<DatasetSize> KnownSize(std::string_view name, const OpenDatasetOptions& options) {
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows)) return std::nullopt;
  std::optional<DatasetSize> size = OwnSize(*row, options);
  if (size) {
    size->sample = ExtentsAfter(options.geometry, size->sample);
  } else if (row->has_geometry && options.geometry.resize > 0) {  // whatever the files hold
    size = DatasetSize{.sample = ExtentsAfter(options.geometry, row->size.sample)};
  }
  return size;
}

Opened OpenDataset(std::string_view name, const OpenDatasetOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const Row* row, FindNamed(kRows, "data set", name));
  const bool nowhere =
      options.path.empty() && options.train_path.empty() && options.test_path.empty();
  const std::string path = nowhere && name == "mnist" ? kFashionMnistPath : options.path;
  const std::string& train = options.train_path.empty() ? path : options.train_path;
  const std::string& test = options.test_path.empty() ? path : options.test_path;
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                        row->open(options, {.train = options.train ? train : "",
                                            .test = options.test ? test : "",
                                            .one_place = train == test}));
  if (row->has_geometry) return dataset;
  return Transform(std::move(dataset), options.geometry);
}

}  // namespace dtnn
