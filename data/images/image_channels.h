// An image in grey or in colour, with or without alpha, as one of the channels that a network
// takes.

#ifndef DTNN_DATA_IMAGES_IMAGE_CHANNELS_H_
#define DTNN_DATA_IMAGES_IMAGE_CHANNELS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace dtnn {

// `image`: 1 channel is grey, 2 are grey and alpha, 3 red, green and blue, 4 these and alpha.
// `channels`: 1 or 3. Alpha is dropped; grey becomes three equal channels; colours become
// Y = 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601), rounded. What has the channels already is moved.
// InvalidArgument for an image of other channels, ResourceExhausted without memory.
absl::StatusOr<Image> WithChannels(Image image, int64_t channels);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_CHANNELS_H_
