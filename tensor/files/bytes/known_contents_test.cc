#include "tensor/files/bytes/known_contents.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using namespace std::string_literals;

std::string_view Of(const std::string& text) {
  return KnownContents(std::as_bytes(std::span(text)));
}

TEST(KnownContentsTest, NamesWhatPeopleMistakeForOtherFiles) {
  const std::pair<std::string, std::string> kFiles[] = {
      {"RIFF\x10\0\0\0WEBPVP8 "s, "a WebP image"},
      {"GIF89a\1\0"s, "a GIF image"},
      {"\0\0\0\x1c"
       "ftypavif\0\0"s,
       "an AVIF image"},
      {"\0\0\0\x18"
       "ftypheic\0\0"s,
       "a HEIC image"},
      {"BM\x36\x10\0\0\0\0\0\0\x36\0"s, "a BMP image"},
      {"II*\0\x08"s, "a TIFF image"},
      {"\n <!DOCTYPE HTML PUBLIC"s, "an HTML page"},
      {"\xef\xbb\xbf<html>"s, "an HTML page"},
      {"version https://git-lfs.github.com/spec/v1\n"s, "a pointer of Git LFS"},
      {"\x93NUMPY\1\0"s, "a .npy file"},
      {"\x80\4\x95"s, "a Python pickle"},
      {"\x1f\x8b\x08"s, "a gzip file"},
      {"PK\3\4"s, "a zip archive"},
      {"\x10\1\0\0\0\0\0\0{\"x\""s, "a .safetensors file"},
  };
  for (const auto& [bytes, name] : kFiles) {
    EXPECT_EQ(Of(bytes).substr(0, name.size()), name);
  }
}

TEST(KnownContentsTest, SaysNothingOfOtherBytes) {
  for (const std::string& bytes : {""s, "B"s, "BM is a text"s, "<"s, "\x80"s, "\x80\x09"s, "RIFF"s,
                                   "\0\0\0\0"s, "hello, world, this is a text of some length"s}) {
    EXPECT_EQ(Of(bytes), "") << bytes;
  }
}

TEST(KnownContentsTest, EveryNameIsFoundInTheBytesItAsksFor) {
  std::string page(kKnownContentsBytes, ' ');
  page.replace(page.size() - 5, 5, "<html");
  EXPECT_NE(Of(page), "");
}

}  // namespace
}  // namespace dtnn
