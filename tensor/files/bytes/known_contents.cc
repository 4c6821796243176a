#include "tensor/files/bytes/known_contents.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace dtnn {
namespace {

using namespace std::string_view_literals;

struct Known {
  size_t offset;
  std::string_view bytes, name;
};

constexpr Known kKnown[] = {
    {0, "\x93NUMPY"sv, "a .npy file, which holds one array (numpy.savez makes an .npz)"},
    {0, "PK\3\4"sv, "a zip archive, as .npz files are"},
    {5, "\0\0\0{\""sv, "a .safetensors file"},  // the length of its header, and the header
    {0, "\x1f\x8b"sv, "a gzip file (gunzip unpacks it)"},
    {0, "BZh"sv, "a bzip2 file (bunzip2 unpacks it)"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz file (unxz unpacks it)"},
    {0, "\x28\xb5\x2f\xfd"sv, "a Zstandard file (unzstd unpacks it)"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    {0, "GIF87a"sv, "a GIF image"},
    {0, "GIF89a"sv, "a GIF image"},
    {8, "WEBP"sv, "a WebP image"},
    {4, "ftypavif"sv, "an AVIF image"},
    {4, "ftypavis"sv, "an AVIF image"},
    {4, "ftyphe"sv, "a HEIC image"},  // heic, heix, heim, heis, hevc, hevx
    {4, "ftypmif1"sv, "a HEIC image"},
    {4, "ftypmsf1"sv, "a HEIC image"},
    {0, "\xff\x0a"sv, "a JPEG XL image"},
    {0, "\0\0\0\x0cJXL "sv, "a JPEG XL image"},
    {0, "\0\0\0\x0cjP  "sv, "a JPEG 2000 image"},
    {0, "II*\0"sv, "a TIFF image"},
    {0, "MM\0*"sv, "a TIFF image"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "version https://git-lfs"sv,
     "a pointer of Git LFS, not the file itself (git lfs pull fetches it)"},
};

bool Holds(std::string_view text, const Known& known) {
  return text.substr(std::min(known.offset, text.size())).starts_with(known.bytes);
}

// In any case; `word` is in lower case.
bool BeginsWith(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == absl::ascii_tolower(uint8_t(b)); });
}

}  // namespace

std::string_view KnownContents(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Known& known : kKnown) {
    if (Holds(text, known)) return known.name;
  }
  // The reserved bytes tell a bitmap from any text that begins with BM.
  if (text.starts_with("BM") && text.size() >= 10 && text.substr(6, 4) == "\0\0\0\0"sv) {
    return "a BMP image";
  }
  if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5) {
    return "a Python pickle, which is never loaded, because loading it can run any program";
  }
  std::string_view page = text;
  if (page.starts_with("\xef\xbb\xbf")) page.remove_prefix(3);  // a byte order mark
  page.remove_prefix(std::min(page.find_first_not_of(" \t\r\n"), page.size()));
  if (BeginsWith(page, "<!doctype html") || BeginsWith(page, "<html")) {
    return "an HTML page (a report, or a download that needs a login or another address?)";
  }
  if (BeginsWith(page, "<?xml") || BeginsWith(page, "<svg")) return "an XML document";
  return "";
}

}  // namespace dtnn
