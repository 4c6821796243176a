// Batches that hold the bytes of images (LoaderOptions::bytes), for a device that makes values of
// them: what a network sees is the same, bit for bit, as with batches of values.

#ifndef DTNN_DATA_LOADING_BYTE_BATCHES_H_
#define DTNN_DATA_LOADING_BYTE_BATCHES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/normalize.h"
#include "data/transforms/transform.h"
#include "kernels/byte_images/byte_images.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

// What stands against batches of bytes, in a few words: "mixup mixes values". Empty where nothing
// does.
std::string WhyNoBytes(const Dataset& dataset, const TransformList& transforms, double mixup);

// What becomes of the bytes of a data set that gives them, with as many changes to each sample. The
// table is made by the code that prepares values. ResourceExhausted without memory for it.
absl::StatusOr<std::shared_ptr<const ByteImagesSpec>> ValuesOfBytes(
    const Dataset& dataset, size_t changes, const Normalization& normalization, TensorFormat format,
    DType dtype);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_BYTE_BATCHES_H_
