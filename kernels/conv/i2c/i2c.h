// Convolution as the textbooks have it: the patches are copied into a matrix (im2col) and the
// matrix is multiplied with the filter (Chellapilla, Puri and Simard, "High Performance
// Convolutional Neural Networks for Document Processing", IWFHR 2006). Rows of the matrix are made
// a block at a time, so that a block is still in cache when it is multiplied. Computes any spec.

#ifndef DTNN_KERNELS_CONV_I2C_I2C_H_
#define DTNN_KERNELS_CONV_I2C_I2C_H_

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

extern const Variant kI2c;

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_I2C_I2C_H_
