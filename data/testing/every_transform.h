// All transforms that can be written as text, for samples of at least 5 x 5 pixels.

#ifndef DTNN_DATA_TESTING_EVERY_TRANSFORM_H_
#define DTNN_DATA_TESTING_EVERY_TRANSFORM_H_

#include <string>

#include "data/transforms/transform_list.h"

namespace dtnn::testing {

inline TransformList EveryTransform() {
  std::string names;
  for (const TransformKind* kind : TransformKinds()) {
    // Windows of the usual size would be larger than such samples.
    names += std::string(kind->name) + (kind->name == "crop" ? ":4," : ",");
  }
  return ParseTransforms(names).value();
}

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_EVERY_TRANSFORM_H_
