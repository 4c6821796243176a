// How tables call the classes or labels of a network's outputs.

#ifndef DTNN_OPTIM_METRICS_LABEL_NAMES_H_
#define DTNN_OPTIM_METRICS_LABEL_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtnn {

// Those of `class_names`, long ones cut, where there are so many; else the numbers from 0.
std::vector<std::string> LabelNames(int64_t labels, std::span<const std::string> class_names);

// Fills up with blanks at the left, until all have one width on a terminal, `width` at least.
void AlignRight(std::vector<std::string>& texts, size_t width);

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_LABEL_NAMES_H_
