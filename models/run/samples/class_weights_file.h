// Weights of classes in a text file, one class per line: `2.5`, for the classes in their order, or
// `cat 2.5`, by their names, in any order. Empty lines do not count.
//
// Errors name the path and the line.

#ifndef DTNN_MODELS_RUN_SAMPLES_CLASS_WEIGHTS_FILE_H_
#define DTNN_MODELS_RUN_SAMPLES_CLASS_WEIGHTS_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

struct ClassWeightLine {
  int64_t line = 0;       // from 1
  std::string name = {};  // empty in a file of numbers only
  double weight = 0;
};

// InvalidArgument for what is not a weight (a number from 0 on), for a file in which only some
// lines have names, and where all are 0. Errors of ReadFile: a file may have 16 MiB.
absl::StatusOr<std::vector<ClassWeightLine>> ReadClassWeights(const std::string& path);
// The same of a file's text; `path` stands in messages.
absl::StatusOr<std::vector<ClassWeightLine>> ParseClassWeights(std::string_view text,
                                                               std::string_view path);

// The weight of each class of a data set. InvalidArgument unless every class has one, and nothing
// else has.
absl::StatusOr<std::vector<double>> OrderClassWeights(const std::vector<ClassWeightLine>& lines,
                                                      std::string_view path,
                                                      std::string_view dataset, int64_t classes,
                                                      const std::vector<std::string>& names);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_CLASS_WEIGHTS_FILE_H_
