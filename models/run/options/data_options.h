// Which samples a run reads, which of them it trains on, and how they are changed.

#ifndef DTNN_MODELS_RUN_OPTIONS_DATA_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_DATA_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtnn {

// Generated samples.
struct GeneratedDataOptions {
  bool instead = false;  // of the files of the data set, in its shape
  int64_t train_samples = 1000;
  int64_t test_samples = 100;
  std::vector<int64_t> input_shape = {3, 32, 32};  // channels, height, width
  std::vector<int64_t> output_shape = {10};        // classes
  std::string pattern = "zeros";                   // or classes

  friend bool operator==(const GeneratedDataOptions&, const GeneratedDataOptions&) = default;
};

// Random changes of training samples.
struct AugmentOptions {
  std::string transforms = {};  // list (data/transforms/transform_list.h)
  double mixup = 0;             // alpha; 0: off
  bool flip = false;
  double flip_probability = 0.5;
  bool crop = false;
  int64_t crop_size = 16;
  double crop_probability = 0.5;

  friend bool operator==(const AugmentOptions&, const AugmentOptions&) = default;
};

struct DataOptions {
  std::string name = {};
  std::string path = {};  // see TrainPath and TestPath
  std::string train_path = {};
  std::string test_path = {};
  bool skip_damaged_images = false;
  std::string archive_format = "auto";  // of an archive's images: or NCHW or NHWC
  std::string language = "en";
  std::string language2 = "de";
  GeneratedDataOptions synthetic = {};
  double share = 0;       // of the samples, of each split; 0: all of them once
  std::string part = {};  // K/N, see DatasetPartOf; empty: all training samples
  bool test_as_validation = false;
  double validation_split = 0.2;
  bool shuffle = true;
  AugmentOptions augment = {};
  // These five as a model file says that training starts from; without one: no.
  std::optional<bool> center_square = {};  // before center_crop
  std::optional<bool> center_crop = {};
  double center_crop_share = 0.875;  // of each side
  std::optional<bool> resize = {};
  int64_t resize_side = 300;                       // pixels
  std::optional<bool> normalize = {};              // (x + offset) * scale
  std::vector<double> normalize_offset = {-0.45};  // one, or one per channel
  std::vector<double> normalize_scale = {3.75};    // likewise
  std::optional<bool> standardize =
      {};               // every channel to mean 0 and deviation 1 over the training samples
  int64_t threads = 0;  // that read ahead; 0: as the data set needs

  friend bool operator==(const DataOptions&, const DataOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_DATA_OPTIONS_H_
