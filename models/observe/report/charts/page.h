// A page of its own: one file without scripts that loads nothing, light or dark as the reader's
// system is, for wide screens, phones and paper.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_PAGE_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "models/observe/report/charts/svg.h"

namespace dtnn {

// `contents`: HTML; the version of DTNN follows. A browser reads the file again every
// `reload_seconds`; 0: never.
std::string FormatPage(std::string_view title, std::string_view contents, int reload_seconds = 0);

// Whether a file that begins with `start` is such a page.
bool IsPage(std::string_view start);

// A part with a heading; `id` as of a picture. Empty contents make an empty text.
std::string PageSection(std::string_view id, std::string_view heading, std::string_view contents);

// Pictures beside each other as far as they fit.
std::string PictureGrid(const std::vector<SvgPicture>& pictures);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_PAGE_H_
