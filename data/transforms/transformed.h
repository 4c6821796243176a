// A data set seen through a geometry: every sample of both splits is cropped and resized when it is
// read, and so are the classes of its pixels where targets are these (nearest pixel). For data sets
// of fixed extents; those of image files do it to each image before they have one size.

#ifndef DTNN_DATA_TRANSFORMS_TRANSFORMED_H_
#define DTNN_DATA_TRANSFORMS_TRANSFORMED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

// `dataset` itself where the geometry changes nothing. All but the samples, their pixels' classes
// and their extents is as in `dataset`; where that has resized the images of its files itself, the
// preprocessing is what both do, one after the other. Scratch memory of one sample stays with each
// thread that reads. InvalidArgument for a geometry out of range.
absl::StatusOr<std::shared_ptr<const Dataset>> Transform(std::shared_ptr<const Dataset> dataset,
                                                         const Geometry& geometry);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_TRANSFORMED_H_
