// The page of a server: an image that is dropped on it is sent to a model, and the answer shown.
// One file, which loads nothing from elsewhere.

#ifndef DTNN_APPS_SERVE_PAGE_H_
#define DTNN_APPS_SERVE_PAGE_H_

#include <string>

#include "comm/http/http_message.h"

namespace dtnn {

HttpAnswer ServerPage();

}  // namespace dtnn

#endif  // DTNN_APPS_SERVE_PAGE_H_
