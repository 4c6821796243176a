// Small folders of images and masks for tests, as datasets/masks/masks.h reads them.

#ifndef DTNN_DATA_TESTING_MASK_FOLDER_H_
#define DTNN_DATA_TESTING_MASK_FOLDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtnn::testing {

// A grey PNG of these values.
std::vector<uint8_t> EncodeMask(int height, int width, std::span<const uint8_t> values);

// The mask of image `index`: rectangles of classes 1 and 2 on class 0, in places that differ from
// image to image. `side` is 8 or more.
std::vector<uint8_t> ShapesMask(int side, int index);
// The image of such a mask, RGB: the brighter the higher the class, with a pattern over it.
std::vector<uint8_t> ShapesImage(int side, int index);

// Writes <root>/train and <root>/test with so many images 0.png, 1.png, ... of side x side pixels
// and their masks, of three classes; those of the test split continue the numbers of the training
// split. No classes.txt.
void WriteMaskFolder(const std::string& root, int side, int train, int test);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_MASK_FOLDER_H_
