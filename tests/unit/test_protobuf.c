/* core/protobuf: the examples of protobuf.dev's "Encoding", and numbers at their ends. */
#include "test.h"

#include "core/protobuf.h"

/* The message has exactly these bytes, given as hex digits; freed. */
static void assert_bytes(CoreText *message, const char *hex) {
  CoreText found = {0};
  for (size_t i = 0; i < message->length; i++) core_text_appendf(&found, "%02x", (unsigned char)message->data[i]);
  assert_string_equal(core_text_string(&found), hex);
  core_text_free(&found);
  core_text_free(message);
}

static void the_page_s_examples(void **state) {
  CoreText message = {0}, inner = {0};
  core_protobuf_int(&message, 1, 150);
  assert_bytes(&message, "089601");
  core_protobuf_text(&message, 2, "testing");
  assert_bytes(&message, "120774657374696e67");
  core_protobuf_int(&inner, 1, 150);
  core_protobuf_message(&message, 3, &inner);
  assert_bytes(&message, "1a03089601");
  assert_null(inner.data);
}

static void numbers_at_their_ends(void **state) {
  CoreText message = {0};
  core_protobuf_int(&message, 1, 0);
  assert_bytes(&message, "0800");
  core_protobuf_int(&message, 1, -2);
  assert_bytes(&message, "08feffffffffffffffff01");
  core_protobuf_int(&message, 1, INT64_MAX);
  assert_bytes(&message, "08ffffffffffffffff7f");
  core_protobuf_int(&message, 16, 1); /* a tag of two bytes */
  assert_bytes(&message, "800101");
  core_protobuf_float(&message, 2, 1.5f);
  assert_bytes(&message, "150000c03f");
  core_protobuf_double(&message, 1, -2.0);
  assert_bytes(&message, "0900000000000000c0");
}

static void bytes_may_be_any_and_long(void **state) {
  CoreText message = {0};
  char many[300];
  memset(many, 0, sizeof many);
  core_protobuf_bytes(&message, 1, "a\0b", 3);
  assert_bytes(&message, "0a03610062");
  core_protobuf_bytes(&message, 1, many, sizeof many);
  assert_int_equal(message.length, 3 + 300);
  assert_memory_equal(message.data, "\x0a\xac\x02", 3);
  core_text_free(&message);
  core_protobuf_bytes(&message, 1, NULL, 0);
  assert_bytes(&message, "0a00");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_page_s_examples),
    cmocka_unit_test(numbers_at_their_ends),
    cmocka_unit_test(bytes_may_be_any_and_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
