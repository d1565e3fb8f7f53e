//===- DecodeImage.cpp - Decode JPEG and PNG files ------------------------===//

#include "tools/frit-train/data/Image.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>
#include <png.h>

using namespace frit::train;

static Fault checkSize(uint64_t height, uint64_t width) {
  return height && width && height <= kMostPixels / width
             ? Fault()
             : Fault("it has " + std::to_string(width) + " x " +
                     std::to_string(height) + " pixels; more than " +
                     std::to_string(kMostPixels) + " are not read");
}

//===----------------------------------------------------------------------===//
// JPEG
//===----------------------------------------------------------------------===//

/// Scans of a progressive image at most. A small file may have many, each of
/// which takes the time of a whole image.
static constexpr int kMostScans = 500;

namespace {
/// What the callbacks of libjpeg share.
struct JpegState {
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
};
} // namespace

static JpegState &stateOf(j_common_ptr info) {
  return *static_cast<JpegState *>(info->client_data);
}

[[noreturn]] static void failJpeg(j_common_ptr info) {
  JpegState &state = stateOf(info);
  info->err->format_message(info, state.message);
  longjmp(state.failed, 1);
}

/// Treats an early end as an error. Other warnings are of files that decode.
static void noteJpeg(j_common_ptr info, int level) {
  int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    failJpeg(info);
}

static void watchJpeg(j_common_ptr info) {
  auto *decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number <= kMostScans)
    return;
  strcpy(stateOf(info).message, "it has too many scans");
  longjmp(stateOf(info).failed, 1);
}

/// Decodes what is behind the header. Returns false, with a message, on
/// failure. No object here has a destructor, as longjmp skips them.
static bool readJpeg(jpeg_decompress_struct &decoder, JpegState &state,
                     Bytes bytes, Image &image, Fault &refused) {
  if (setjmp(state.failed))
    return false;
  jpeg_create_decompress(&decoder);
  decoder.client_data = &state;
  decoder.progress = &state.progress;
  jpeg_mem_src(&decoder, bytes.data(),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder, TRUE);
  if (decoder.jpeg_color_space == JCS_CMYK ||
      decoder.jpeg_color_space == JCS_YCCK) {
    strcpy(state.message, "its colors are those of print, CMYK; convert it to "
                          "RGB");
    return false;
  }
  refused = checkSize(decoder.image_height, decoder.image_width);
  if (refused)
    return false;
  decoder.out_color_space = JCS_RGB;
  jpeg_start_decompress(&decoder);
  image.height = decoder.output_height;
  image.width = decoder.output_width;
  image.channels = 3;
  image.pixels.resize(image.height * image.width * 3);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = image.pixels.data() +
                   uint64_t(decoder.output_scanline) * image.width * 3;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

static Fault decodeJpeg(Bytes bytes, Image &image) {
  jpeg_decompress_struct decoder = {};
  JpegState state = {};
  decoder.err = jpeg_std_error(&state.errors);
  decoder.client_data = &state;
  state.errors.error_exit = failJpeg;
  state.errors.emit_message = noteJpeg;
  state.progress.progress_monitor = watchJpeg;
  Fault refused;
  bool isRead = readJpeg(decoder, state, bytes, image, refused);
  jpeg_destroy_decompress(&decoder);
  if (isRead || refused)
    return refused;
  return Fault(state.message);
}

//===----------------------------------------------------------------------===//
// PNG
//===----------------------------------------------------------------------===//

static Fault decodePng(Bytes bytes, Image &image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  auto fails = [&] {
    Fault fault(*png.message ? png.message : "it cannot be decoded");
    png_image_free(&png);
    return fault;
  };
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    return fails();
  if (Fault fault = checkSize(png.height, png.width)) {
    png_image_free(&png);
    return fault;
  }
  // With alpha: without it libpng would mix in a background.
  png.format = PNG_FORMAT_RGBA;
  Storage pixels(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr))
    return fails();
  image.height = png.height;
  image.width = png.width;
  image.channels = 3;
  image.pixels.resize(image.height * image.width * 3);
  for (uint64_t i = 0; i < image.height * image.width; ++i)
    memcpy(&image.pixels[i * 3], &pixels[i * 4], 3);
  return {};
}

Fault frit::train::decodeImage(Bytes bytes, Image &image) {
  std::string_view start =
      asText(bytes.first(std::min<size_t>(bytes.size(), 8)));
  image = {};
  if (start.starts_with("\xff\xd8\xff"))
    return decodeJpeg(bytes, image);
  if (start == "\x89PNG\r\n\x1a\n")
    return decodePng(bytes, image);
  return Fault("it is no JPEG or PNG image");
}
