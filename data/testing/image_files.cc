#include "data/testing/image_files.h"

// clang-format off
#include <cstdio>  // first: the library's headers use FILE without declaring it
#include <jpeglib.h>
// clang-format on

#include <png.h>

#include <cstdlib>
#include <cstring>

namespace dtnn::testing {
namespace {

// The default error handlers of both libraries end the program, as a test should.
void SetUpColours(jpeg_compress_struct& info, JpegKind kind) {
  const int components[] = {1, 3, 4, 4};
  const J_COLOR_SPACE input[] = {JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_CMYK};
  const J_COLOR_SPACE stored[] = {JCS_GRAYSCALE, JCS_YCbCr, JCS_CMYK, JCS_YCCK};
  info.input_components = components[int(kind)];
  info.in_color_space = input[int(kind)];
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, stored[int(kind)]);
  for (int i = 0; i < info.num_components; ++i) {
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
}

void Append(png_structp png, png_bytep bytes, size_t count) {
  auto* to = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
  to->insert(to->end(), bytes, bytes + count);
}

}  // namespace

std::vector<uint8_t> EncodeJpeg(int height, int width, std::span<const uint8_t> samples,
                                const JpegFile& file) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_height = JDIMENSION(height);
  info.image_width = JDIMENSION(width);
  SetUpColours(info, file.kind);
  jpeg_set_quality(&info, file.quality, TRUE);
  if (file.progressive) jpeg_simple_progression(&info);
  const size_t row_bytes = size_t(width) * size_t(info.input_components);
  if (samples.size() != row_bytes * size_t(height)) std::abort();
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(samples.data()) + info.next_scanline * row_bytes;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  const std::vector<uint8_t> bytes(out, out + size);
  jpeg_destroy_compress(&info);
  std::free(out);
  return bytes;
}

std::vector<uint8_t> EncodePng(int height, int width, std::span<const uint8_t> rows,
                               const PngFile& file) {
  std::vector<uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, Append, nullptr);
  png_set_IHDR(png, info, png_uint_32(width), png_uint_32(height), file.bit_depth, file.color_type,
               file.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
  std::vector<png_color> palette;
  for (const auto& [red, green, blue] : file.palette) palette.push_back({red, green, blue});
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), int(palette.size()));
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  if (rows.size() != row_bytes * size_t(height)) std::abort();
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int row = 0; row < height; ++row)
      png_write_row(png, rows.data() + size_t(row) * row_bytes);
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::vector<uint8_t> SmoothPixels(int height, int width, int channels, int seed) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(uint8_t(40 + (5 * y + 3 * x + 37 * c + 11 * seed) % 97 * 2));
      }
    }
  }
  return pixels;
}

std::vector<uint8_t> FlatJpeg(int height, int width, std::array<uint8_t, 3> rgb) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < height * width; ++i) pixels.insert(pixels.end(), rgb.begin(), rgb.end());
  return EncodeJpeg(height, width, pixels);
}

}  // namespace dtnn::testing
