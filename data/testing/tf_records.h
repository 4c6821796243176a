// Files as TensorFlow's preprocessing of ImageNet writes them: records, of Examples of an image.

#ifndef DTNN_DATA_TESTING_TF_RECORDS_H_
#define DTNN_DATA_TESTING_TF_RECORDS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "data/formats/tf_example.h"

namespace dtnn::testing {

// The bytes of an Example with the two features.
std::vector<uint8_t> ImageExampleBytes(const LabelledImage& image);

// One record with its frame.
std::vector<uint8_t> TfRecordBytes(std::span<const uint8_t> record);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_TF_RECORDS_H_
