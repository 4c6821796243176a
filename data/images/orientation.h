// The orientation that a camera notes in a picture's EXIF metadata (tag 0x0112): how the stored
// rows and columns are to be turned for what a viewer shows.
//
// 1 as stored · 2 mirrored left to right · 3 turned by 180 degrees · 4 mirrored top to bottom ·
// 5 mirrored at the main diagonal · 6 turned by 90 degrees clockwise · 7 mirrored at the other
// diagonal · 8 turned by 90 degrees anticlockwise.
//
// The parser reads one number of the first directory and trusts no length; whatever is damaged, of
// another type or out of range counts as 1, as viewers have it. Cost: a few comparisons per marker
// of the file; turning copies the image once.
// Formats: TIFF 6.0 (directories), EXIF 2.32, JPEG's APP1 segments, PNG's eXIf chunk.

#ifndef DTNN_DATA_IMAGES_ORIENTATION_H_
#define DTNN_DATA_IMAGES_ORIENTATION_H_

#include <cstdint>
#include <span>

#include "tensor/format.h"

namespace dtnn {

struct Image;

// 1 to 8, of a whole JPEG or PNG file.
int JpegOrientation(std::span<const uint8_t> bytes);
int PngOrientation(std::span<const uint8_t> bytes);

// The extents after turning, and the turned image.
ImageExtents Oriented(const ImageExtents& extents, int orientation);
Image Oriented(Image image, int orientation);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_ORIENTATION_H_
