// What the flags of predict say.

#ifndef DTNN_APPS_PREDICT_PREDICT_OPTIONS_H_
#define DTNN_APPS_PREDICT_PREDICT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace dtnn {

struct PredictOptions {
  std::string model_file = {};  // says all: network, parameters, preprocessing, classes
  // Instead: a file of parameters, such as a checkpoint. Where it holds a network too, that is the
  // network, and `model`, `loss_func`, `dataset`, `input_shape` and `class_names` may only agree.
  std::string weights = {};
  std::string model = {};  // empty: as the file says
  std::string weights_format = "auto";
  // The loss of training: it decides the last layer of an adaptable network, and what outputs mean.
  // Empty: as the file says, or categorical_cross_entropy.
  std::string loss_func = {};
  // Samples and classes: those of a data set of fixed extents, or the network's own; the shape as
  // channels,height,width and the names of the classes go before both.
  std::string dataset = {};
  std::vector<int64_t> input_shape = {};
  std::string class_names = {};  // a file of a name per line, or the folder of a data set
  // The fraction of each side that is kept, in the middle; 1: as much as in training.
  double crop = 0;  // share of each side; 0: as in training
  bool normalize = false;
  // One number, or one per channel.
  std::vector<double> normalize_offset = {-0.45}, normalize_scale = {3.75};
  std::vector<double> mean = {}, std = {};  // of the training data
  std::string format = "text";              // or csv, json
  int64_t top = 0;  // classes or labels per file; 0: the best class, or all labels above 50 %
  std::string mask_dir = {};  // where masks are written, in place of answers; empty: none
  int64_t batch = 32;
  std::string math_mode = "fp32";  // or bf16, int8
};

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_PREDICT_OPTIONS_H_
