// All data sets by name. One table holds what is known of each; a new data set is one row there.

#ifndef DTNN_DATA_LOADING_OPEN_DATASET_H_
#define DTNN_DATA_LOADING_OPEN_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/datasets/synthetic.h"
#include "data/images/resize.h"
#include "tensor/format.h"

namespace dtnn {

struct OpenDatasetOptions {
  // A file or folder; each data set's header says which files it looks for there. For mnist, if no
  // path is given at all: kFashionMnistPath.
  std::string path = {};
  std::string train_path = {}, test_path = {};  // of one split, in place of `path`
  bool train = true, test = true;               // which splits are read
  // Central crop and resize. Images of different sizes need a resize.
  Geometry geometry = {};
  // Damaged images of folder, masks, chestxray and imagenet's archives are skipped with a warning.
  // Opening reads and decodes every image (datasets/image_dataset.h). InvalidArgument for
  // imagenet's .npz files.
  bool skip_damaged_images = false;
  // Samples of imagenet's .npz files are 227 x 227 instead of the middle 224 x 224.
  bool imagenet_whole = false;
  // The order of archive's axes; nullopt: found from their extents.
  std::optional<TensorFormat> archive_format = {};
  SyntheticOptions synthetic = {};  // of synthetic
};

// What is known of a data set without its files: how many samples, of which extents, and what a
// network for them gives. 0: the files decide.
struct DatasetSize {
  int64_t train = 0, test = 0;
  ImageExtents sample = {};
  int64_t outputs = 0;
};

// In the order in which they are documented.
std::vector<std::string_view> DatasetNames();
// After crop and resize; nullopt where the files decide the extents, and for an unknown name.
std::optional<DatasetSize> KnownSize(std::string_view name, const OpenDatasetOptions& options = {});
// NotFound, listing the names, for an unknown one; else errors as in the data set's own header.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(std::string_view name,
                                                           const OpenDatasetOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_OPEN_DATASET_H_
