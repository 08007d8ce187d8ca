// @ts-check
/** Times are told in the reader's zone from the first page on. */
import { tellZone } from "./zone.js";

tellZone();
